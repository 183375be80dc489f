// How a client shows who it is, and makes sure of the server.
import {credentials} from '@grpc/grpc-js';
import {checkNames} from './numbers.js';

const names = ['ca', 'cert', 'key', 'serverName'];

// Returns credentials of channels, the name in the server's certificate (empty:
// the host of the address) and the headers of every call.
export function securityOf(tls, token) {
  if (token !== undefined && !/^[!-~]+$/.test(token)) {
    throw new TypeError('token must be visible ASCII characters without spaces');
  }
  const headers = token === undefined ? {} : {authorization: `Bearer ${token}`};
  if (!tls) return {credentials: credentials.createInsecure(), serverName: '', headers};
  const {ca, cert, key, serverName = ''} = tls === true ? {} : tls;
  if (tls !== true) checkNames('tls', tls, names);
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

function pem(name, text) {
  if (text === undefined) return null;
  const bytes = Buffer.from(text);
  if (bytes.includes('-----BEGIN')) return bytes;
  throw new TypeError(`tls.${name} must be the content of a PEM file`);
}
