// How a client shows who it is, and makes sure of the server.
import {credentials} from '@grpc/grpc-js';
import {optionsOf, refuse, text} from './arguments.js';

export const tlsNames = ['ca', 'cert', 'key', 'serverName'];

// Returns credentials of channels, the name in the server's certificate (empty:
// the host of the address) and the headers of every call.
export function securityOf(tls, token) {
  if (token !== undefined && !/^[!-~]+$/.test(text('token', token))) {
    throw new TypeError('token must be visible ASCII characters without spaces');
  }
  const headers = token === undefined ? {} : {authorization: `Bearer ${token}`};
  if (!tls) return {credentials: credentials.createInsecure(), serverName: '', headers};
  const {ca, cert, key, serverName = ''} = tls === true ? {} : optionsOf('tls', tls, tlsNames);
  text('tls.serverName', serverName);
  if (!cert !== !key) throw new TypeError(`tls.${cert ? 'key' : 'cert'} is unset, must be given with the other`);
  return {credentials: credentials.createSsl(pem('ca', ca), pem('key', key), pem('cert', cert)), serverName, headers};
}

// TypeError if a token would go to another machine over plain text.
export function checkTokenStays(servers) {
  for (const {address} of servers) {
    const host = address.replace(/^(dns|ipv4|ipv6):\/*/, '').replace(/:\d+$/, '').replace(/^\[|\]$/g, '');
    if (/^(localhost|::1|127(\.\d+){3})$/.test(host) || address.startsWith('unix:')) continue;
    throw new TypeError(`token is given and a server is ${address}: it must be on this machine, or have tls, or ` +
        'plaintextTokens');
  }
}

function pem(name, content) {
  if (content === undefined) return null;
  const isContent = typeof content === 'string' || content instanceof Uint8Array;
  const bytes = isContent ? Buffer.from(content) : refuse(`tls.${name}`, content, 'the content of a PEM file');
  if (bytes.includes('-----BEGIN')) return bytes;
  throw new TypeError(`tls.${name} must be the content of a PEM file`);
}
