// One address: its connection, and whether it serves.
import {isIP} from 'node:net';
import {Client, Metadata, status} from '@grpc/grpc-js';
import {health} from './methods.js';

const watchPauseMs = 200;  // Before a health watch that ended begins again.

// Short, so that a retry finds a server that came back. Calls are repeated by
// calls.js alone.
const options = {
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 2000,
  'grpc.max_receive_message_length': -1,
  'grpc.max_send_message_length': -1,
  'grpc.enable_retries': 0,
  'grpc.service_config_disable_resolution': 1,
  'grpc.use_local_subchannel_pool': 1,
};

const same = (bytes) => bytes;

export class Server {
  isServing = true;  // What the health watch said last; at first, true.
  avoidanceMs = 0;   // Set by Servers; 0: the last call was answered.
  avoidedUntil = 0;
  #security;
  #client;
  #watch = null;
  #timer = null;

  // Connects at the first call. `serverName` must be in the certificate of the
  // server, `authority` is what it is told as its own name; empty: the address's.
  constructor(address, security, {serverName = security.serverName, authority = serverName} = {}) {
    this.address = address;
    this.#security = security;
    const names = {'grpc.ssl_target_name_override': serverName, 'grpc.default_authority': authority};
    const given = Object.fromEntries(Object.entries(names).filter(([, value]) => value));
    this.#client = new Client(address, security.credentials, {...options, ...given});
  }

  // Sends one attempt of a call. Returns a promise of {error} or {answer}, both
  // with the address of the `peer` that may have had the request, if one may, and
  // a function that cancels it.
  send(method, bytes, {deadline, waitForReady, headers}) {
    const metadata = new Metadata({waitForReady});
    for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
    let call;
    const outcome = new Promise((resolve) => {
      call = this.#client.makeUnaryRequest(method.path, same, method.responseDeserialize, bytes, metadata, {deadline},
          (error, answer) => resolve({error, answer, peer: this.#peerOf(call)}));
    });
    return {outcome, cancel: () => call.cancel()};
  }

  // A call that no server had has the target of its channel as peer, or none.
  #peerOf(call) {
    const peer = call.getPeer();
    return peer === this.#client.getChannel().getTarget() || peer === 'unknown' ? null : peer;
  }

  // Returns the one server at `peer` if this address is a name, which may stand
  // for several; else null.
  oneOfSeveral(peer) {
    const host = this.address.replace(/:\d+$/, '');
    if (this.address.startsWith('unix:') || isIP(host.replace(/^\[|\]$/g, ''))) return null;
    const authority = this.address.replace(/^dns:\/*/, '');
    return new Server(peer, this.#security, {serverName: this.#security.serverName || host.replace(/^dns:\/*/, ''),
      authority: this.#security.serverName || authority});
  }

  // Follows the server's health from now on.
  watch() {
    const {path, requestSerialize, responseDeserialize} = health.Watch;
    this.#watch = this.#client.makeServerStreamRequest(path, requestSerialize, responseDeserialize,
        {service: 'sortition.v1.Ranking'});
    this.#watch.on('data', ({status}) => this.#setServing(status === 'SERVING'));
    this.#watch.on('error', () => {});  // A status follows.
    this.#watch.on('status', ({code}) => {
      // What has no health service may well serve.
      this.#setServing(code === status.UNIMPLEMENTED);
      if (this.#watch && !this.isServing) this.#timer = setTimeout(() => this.watch(), watchPauseMs).unref();
    });
  }

  // Ends the avoidance.
  isHere() {
    this.avoidanceMs = this.avoidedUntil = 0;
  }

  #setServing(isServing) {
    if (isServing && !this.isServing) this.isHere();
    this.isServing = isServing;
  }

  close() {
    clearTimeout(this.#timer);
    const watch = this.#watch;
    this.#watch = null;
    watch?.cancel();
    this.#client.close();
  }
}
