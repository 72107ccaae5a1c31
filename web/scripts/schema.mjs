// Writes src/api/schema.d.ts from ../docs/openapi.json: every schema as a type, every route with what it takes and answers.
// With --check it only compares, so that a forgotten run is seen.

import { readFileSync, writeFileSync } from 'node:fs';

const source = new URL('../../docs/openapi.json', import.meta.url);
const target = new URL('../src/api/schema.d.ts', import.meta.url);
const api = JSON.parse(readFileSync(source, 'utf8'));
const base = '/api/v1';

const written = write(api);
if (process.argv.includes('--check')) {
  const found = readFileSync(target, 'utf8');
  if (found !== written) {
    console.error('src/api/schema.d.ts does not say what ../docs/openapi.json says; run `npm run schema`');
    process.exit(1);
  }
} else {
  writeFileSync(target, written);
}

function write({ components, paths }) {
  const lines = ['// Written by scripts/schema.mjs from ../docs/openapi.json; change nothing here.', ''];
  for (const [name, schema] of Object.entries(components.schemas)) {
    lines.push(...comment(schema.description, ''), `export type ${name} = ${nameOf(name, schema)};`, '');
  }
  lines.push('/** What every route takes and answers. */', 'export interface Routes {');
  for (const [path, methods] of Object.entries(paths)) {
    for (const [method, operation] of Object.entries(methods)) {
      if (!operation.responses) continue;
      const parameters = [...(methods.parameters ?? []), ...(operation.parameters ?? [])];
      lines.push(
        ...comment(operation.summary ?? operation.description, '  '),
        `  '${method.toUpperCase()} ${path.replace(base, '')}': {`,
        `    path: ${record(parameters.filter((one) => one.in === 'path'))};`,
        `    query: ${record(parameters.filter((one) => one.in === 'query'))};`,
        `    body: ${json(operation.requestBody?.content)};`,
        `    answer: ${answer(operation.responses)};`,
        '  };',
      );
    }
  }
  lines.push('}', '');
  return lines.join('\n');
}

// An id that carries its kind cannot be given where an id of another kind is asked for.
function nameOf(name, schema) {
  return name.endsWith('Id') && schema.type === 'string' ? `string & { readonly kind?: '${name}' }` : type(schema);
}

function type(schema) {
  if (schema === true || Object.keys(schema).length === 0) return 'unknown';
  if (schema.$ref) return schema.$ref.split('/').at(-1);
  if ('const' in schema) return JSON.stringify(schema.const);
  if (schema.enum) return schema.enum.map((value) => JSON.stringify(value)).join(' | ');
  const several = schema.oneOf ?? schema.anyOf;
  if (several) return several.map(type).join(' | ');
  if (Array.isArray(schema.type)) return schema.type.map((one) => type({ ...schema, type: one })).join(' | ');
  switch (schema.type) {
    case 'string': return 'string';
    case 'integer':
    case 'number': return 'number';
    case 'boolean': return 'boolean';
    case 'null': return 'null';
    case 'array': return Array.isArray(schema.prefixItems)
      ? `[${schema.prefixItems.map(type).join(', ')}]`
      : `(${type(schema.items ?? {})})[]`;
    case 'object': return object(schema);
    default: return schema.properties ? object(schema) : 'unknown';
  }
}

function object(schema) {
  const required = new Set(schema.required ?? []);
  const members = Object.entries(schema.properties ?? {}).map(
    ([name, member]) => `${key(name)}${required.has(name) ? '' : '?'}: ${type(member)}`,
  );
  const extra = schema.additionalProperties;
  if (extra && typeof extra === 'object') members.push(`[name: string]: ${type(extra)}`);
  else if (extra === true || members.length === 0) members.push('[name: string]: unknown');
  return `{ ${members.join('; ')} }`;
}

function record(parameters) {
  if (parameters.length === 0) return 'undefined';
  const members = parameters.map((one) => `${key(one.name)}${one.required ? '' : '?'}: ${type(one.schema ?? {})}`);
  return `{ ${members.join('; ')} }`;
}

function json(content) {
  const schema = content?.['application/json']?.schema;
  return schema ? type(schema) : 'undefined';
}

function answer(responses) {
  const good = Object.entries(responses).find(([status]) => status.startsWith('2'));
  return good ? json(good[1].content) : 'undefined';
}

function key(name) {
  return /^[a-z_]\w*$/i.test(name) ? name : JSON.stringify(name);
}

function comment(text, indent) {
  return text ? [`${indent}/** ${text.replaceAll('*/', '* /').replaceAll('\n', ' ')} */`] : [];
}
