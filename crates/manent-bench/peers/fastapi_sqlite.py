"""A chat server as most would write it: FastAPI, SQLAlchemy's ORM, one SQLite file that is as durable as ours.

Arguments: the file, the messages to begin with (one JSON object a line), and how many of them a conversation has.
"""

import json
import socket
import sys

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel
from sqlalchemy import ForeignKey, create_engine, event, insert, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

path, messages, length = sys.argv[1], sys.argv[2], int(sys.argv[3])
# As many connections as there are clients, and half a minute to wait for the lock: the defaults refuse under this load.
engine = create_engine(f"sqlite:///{path}", pool_size=64, connect_args={"timeout": 30})


@event.listens_for(engine, "connect")
def durable(connection, _):
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")


class Base(DeclarativeBase):
    pass


class Conversation(Base):
    __tablename__ = "conversations"
    id: Mapped[int] = mapped_column(primary_key=True)


class Message(Base):
    __tablename__ = "messages"
    id: Mapped[int] = mapped_column(primary_key=True)
    conversation_id: Mapped[int] = mapped_column(ForeignKey("conversations.id"), index=True)
    role: Mapped[str]
    parts: Mapped[str]


class Draft(BaseModel):
    role: str
    parts: list


app = FastAPI()


@app.post("/conversations/{conversation}/messages", status_code=201)
def append(conversation: int, draft: Draft):
    with Session(engine) as session:
        message = Message(conversation_id=conversation, role=draft.role, parts=json.dumps(draft.parts))
        session.add(message)
        session.commit()
        return {"id": message.id}


@app.get("/conversations/{conversation}/messages")
def page(conversation: int, last: int):
    newest = select(Message).where(Message.conversation_id == conversation).order_by(Message.id.desc()).limit(last)
    with Session(engine) as session:
        found = session.scalars(newest).all()
    return [{"id": message.id, "role": message.role, "parts": json.loads(message.parts)} for message in reversed(found)]


def fill():
    Base.metadata.create_all(engine)
    with open(messages, encoding="utf-8") as lines:
        drafts = [json.loads(line) for line in lines]
    with Session(engine) as session:
        session.add_all(Conversation(id=number + 1) for number in range(len(drafts) // length))
        session.flush()
        rows = [
            {"conversation_id": place // length + 1, "role": draft["role"], "parts": json.dumps(draft["parts"])}
            for place, draft in enumerate(drafts)
        ]
        session.execute(insert(Message), rows)
        session.commit()


fill()
listener = socket.socket()
listener.bind(("127.0.0.1", 0))
print("http://%s:%d/" % listener.getsockname(), flush=True)
uvicorn.Server(uvicorn.Config(app, log_level="critical", access_log=False)).run([listener])
