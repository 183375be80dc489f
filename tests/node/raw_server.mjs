// A server that speaks just enough HTTP/2 to receive a call, and then ends it badly.
import {once} from 'node:events';
import {createServer} from 'node:net';

// Frames of HTTP/2 (RFC 9113, section 6).
const settings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);
// The highest stream that was processed is 0, so none was; NO_ERROR.
const goaway = Buffer.concat([Buffer.from([0, 0, 8, 7, 0, 0, 0, 0, 0]), Buffer.alloc(8)]);
const prefaceBytes = 24;
const headersType = 1;

// endings: 'reset' by a TCP reset, 'goaway' by a frame GOAWAY, 'silence' not at all. 'deaf'
// sends nothing, not even its settings.
export class RawServer {
  #sockets = new Set();

  static async start(ending) {
    const raw = new RawServer();
    raw.server = createServer((socket) => raw.#serve(socket, ending)).listen(0, '127.0.0.1');
    await once(raw.server, 'listening');
    raw.address = `127.0.0.1:${raw.server.address().port}`;
    return raw;
  }

  #serve(socket, ending) {
    this.#sockets.add(socket);
    socket.on('error', () => {});  // The client ended the connection.
    if (ending === 'deaf') return;
    socket.write(settings);
    let data = Buffer.alloc(0);
    let next = prefaceBytes;  // Where the next frame begins.
    socket.on('data', (more) => {
      data = Buffer.concat([data, more]);
      for (; data.length >= next + 9; next += 9 + data.readUIntBE(next, 3)) {
        if (data[next + 3] !== headersType || ending === 'silence') continue;
        if (ending === 'reset') return socket.resetAndDestroy();
        return socket.end(goaway);
      }
    });
  }

  stop() {
    this.server.close();
    this.#sockets.forEach((socket) => socket.destroy());
  }
}
