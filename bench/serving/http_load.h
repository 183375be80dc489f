#pragma once
// Clients of the HTTP port of a server: some that call, others that do nothing.
#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"

namespace sortition {

// Posts `json` to `path` of 127.0.0.1:port at a rate, over a few connections,
// as long as it lives.
class HttpCalls {
 public:
  struct Options {
    std::string path;
    std::string json;
    double requests_per_second = 1000;
    int threads = 2;
  };
  HttpCalls(int port, const Options& options);
  ~HttpCalls();

  uint64_t num_answered() const { return num_answered_; }
  uint64_t num_failed() const { return num_failed_; }

 private:
  void Run(int port, const Options& options);

  std::atomic<bool> is_over_{false};
  std::atomic<uint64_t> num_answered_{0};
  std::atomic<uint64_t> num_failed_{0};
  std::vector<std::thread> threads_;
};

// Connections that send nothing, or the beginning of a request, as long as it
// lives. One that the server closes is opened again.
class HttpLoiterers {
 public:
  // ResourceExhausted if this process may not have as many.
  static absl::Status RaiseLimit(int count);

  HttpLoiterers(int port, int count);
  ~HttpLoiterers();

  uint64_t num_opened() const { return num_opened_; }

 private:
  void Run(int port, int count);

  std::atomic<bool> is_over_{false};
  std::atomic<uint64_t> num_opened_{0};
  std::thread thread_;
};

}  // namespace sortition
