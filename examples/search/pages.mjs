// The HTTP side: files of the page, and JSON in and out.
import {readFileSync} from 'node:fs';
import {createServer} from 'node:http';
import {isIP} from 'node:net';
import {BadRequest} from './api.mjs';
import {CallError} from './sortition.mjs';

const mostBytes = 65536;  // Of a request.
const files = {
  '/': ['index.html', 'text/html; charset=utf-8'],
  '/app.js': ['app.js', 'text/javascript; charset=utf-8'],
  '/style.css': ['style.css', 'text/css; charset=utf-8'],
  '/icon.svg': ['icon.svg', 'image/svg+xml'],
};

// Returns an HTTP server of the page and of `api`. `isPublic`: others than this
// machine may ask.
export function createPages(api, {isPublic = false} = {}) {
  const bytes = Object.fromEntries(Object.entries(files).map(([path, [name]]) =>
    [path, readFileSync(new URL(`page/${name}`, import.meta.url))]));
  const server = createServer(async (request, response) => {
    response.setHeader('content-security-policy',
        "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
    response.setHeader('x-content-type-options', 'nosniff');
    response.setHeader('cache-control', 'no-store');
    try {
      checkSource(request, isPublic);
      const {pathname, searchParams} = new URL(request.url, 'http://page');
      if (isGet(request) && Object.hasOwn(files, pathname)) {
        response.setHeader('content-type', files[pathname][1]);
        return response.end(bytes[pathname]);
      }
      sendJson(response, 200, await answer(api, request, pathname, searchParams));
    } catch (error) {
      sendError(response, error);
    }
  });
  server.requestTimeout = 10000;
  return server;
}

async function answer(api, request, path, query) {
  if (isGet(request) && Object.hasOwn(api.get, path)) return api.get[path](query);
  if (request.method === 'POST' && Object.hasOwn(api.post, path)) {
    return api.post[path](await readJson(request));
  }
  throw new BadRequest(`there is no ${request.method} ${path}`, 404);
}

function isGet({method}) {
  return method === 'GET' || method === 'HEAD';
}

// Pages of other sites cannot ask: they have another Origin. Nor can foreign
// names that point to this machine (DNS rebinding).
function checkSource({headers}, isPublic) {
  const {host = '', origin} = headers;
  if (origin !== undefined && origin !== `http://${host}` && origin !== `https://${host}`) {
    throw new BadRequest('Origin is another site', 403);
  }
  const name = host.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
  if (!isPublic && name !== 'localhost' && isIP(name) === 0) {
    throw new BadRequest(`Host is ${name}, must be an address or localhost`, 403);
  }
}

// Only JSON: forms of other sites cannot send it.
async function readJson(request) {
  if (!/^application\/json\b/.test(request.headers['content-type'] ?? '')) {
    throw new BadRequest('Content-Type must be application/json', 415);
  }
  const parts = [];
  let length = 0;
  for await (const part of request) {
    length += part.length;
    if (length > mostBytes) throw new BadRequest(`the body is longer than ${mostBytes} bytes`, 413);
    parts.push(part);
  }
  let body;
  try {
    body = JSON.parse(Buffer.concat(parts).toString());
  } catch (error) {
    throw new BadRequest(`the body is not JSON: ${error.message}`);
  }
  if (typeof body !== 'object' || body === null) throw new BadRequest('the body is not an object');
  return body;
}

function sendJson(response, code, body) {
  response.writeHead(code, {'content-type': 'application/json'});
  response.end(JSON.stringify(body));
}

function sendError(response, error) {
  if (error instanceof BadRequest) return sendJson(response, error.code, {message: error.message});
  if (error instanceof CallError) return sendJson(response, 502, {message: `Sortition: ${error.message}`});
  console.error(error);
  sendJson(response, 500, {message: 'the server of the page has failed'});
}
