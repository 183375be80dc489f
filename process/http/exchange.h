#pragma once
// One request and its answer on a connection of civetweb.
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "process/http/http_server.h"

struct mg_connection;

namespace sortition {

// Lives while civetweb's callback for the request runs.
class Exchange {
 public:
  Exchange(mg_connection* connection, const HttpLimits& limits);

  // What came, without its body.
  const HttpRequest& request() const { return request_; }
  bool is_http_1_0() const;
  // Whether the client takes further answers over this connection.
  bool wants_more() const;

  // Returns the answer to a request whose headers contradict each other, or
  // could mean something else to a proxy in front: its length is ambiguous, a
  // header that there can be one of stands there twice, or a line is no header.
  // Nobody knows then where the next request begins: the connection will be
  // closed. The same for headers that CheckSupported() refuses.
  std::optional<HttpAnswer> CheckHeaders();

  // Reads the body, if there is one. Returns the answer if it does not come in
  // time, has no end, or is too large.
  std::optional<HttpAnswer> ReadBody();

  // Sends the answer, without its body for HEAD. The connection is closed
  // unless it `is_kept` and the request was read to its end. Returns the code.
  int Write(const HttpAnswer& answer, bool is_kept);

 private:
  std::string Header(absl::string_view name) const;
  // Returns what is wrong with the headers; empty: nothing.
  std::string HeaderProblem() const;
  bool is_chunked() const;
  // Returns the answer to a request with a header that changes what its body
  // means, and that this server cannot obey: an Expect other than 100-continue,
  // a Content-Range, or a Content-Encoding of a body.
  std::optional<HttpAnswer> CheckSupported() const;
  // Tells the client to send the body if it waits for that.
  void SendContinue() const;
  // Returns an answer if what is declared, or has come, is too much.
  std::optional<HttpAnswer> CheckSize(uint64_t bytes) const;
  // Takes what the client is still sending, for at most so long. A client may
  // lose an answer that comes before it has sent all, or after which its
  // connection is closed at once.
  void TakeRest(double seconds);

  mg_connection* const connection_;
  const HttpLimits& limits_;
  HttpRequest request_;
  bool is_head_ = false;
  bool is_read_ = true;  // All of the request.
};

// Sends an answer that ends the connection, without an Exchange.
void WriteLastAnswer(mg_connection* connection, const HttpAnswer& answer,
                     double seconds);

}  // namespace sortition
