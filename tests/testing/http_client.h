#pragma once
// A client of HTTP that can also be rude.
#include <map>
#include <string>

#include "absl/strings/string_view.h"

namespace sortition {

struct HttpReply {
  int code = 0;                                // 0: none came.
  std::map<std::string, std::string> headers;  // Names in lower case.
  std::string body;
};

// A connection to 127.0.0.1; closed with the object.
class HttpClient {
 public:
  explicit HttpClient(int port);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  bool is_connected() const { return is_connected_; }
  bool Send(absl::string_view bytes) const;
  void EndSending() const;
  // Reads one answer: its body goes as far as Content-Length says, or is absent
  // for HEAD. Code 0 if the connection ends before. Skips 100 Continue unless
  // asked not to.
  HttpReply Read(bool is_head = false, bool skips_continue = true);
  // Whether the server closes without saying more.
  bool ReadsEnd();

 private:
  // Fills `buffer_` up to this size, or returns false.
  bool Fill(size_t size);

  int socket_;
  bool is_connected_ = false;
  std::string buffer_;
};

// Sends bytes over a connection of its own and returns the answer.
HttpReply AskHttp(int port, absl::string_view bytes);

// Posts JSON. `headers` are whole lines, each ended by CRLF.
std::string PostText(absl::string_view path, absl::string_view json,
                     absl::string_view headers = "");
HttpReply PostJson(int port, absl::string_view path, absl::string_view json,
                   absl::string_view headers = "");
HttpReply GetHttp(int port, absl::string_view path,
                  absl::string_view headers = "");

}  // namespace sortition
