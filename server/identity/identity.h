#pragma once
// Who the server is, and who may call it: certificates and tokens, read again
// when their files change.
#include <grpcpp/security/server_credentials.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "process/metrics.h"
#include "server/identity/authorizer.h"
#include "server/identity/tls_credentials.h"
#include "sortition/config/v1/server.pb.h"

namespace sortition {

// InvalidArgument where options of identity contradict each other: a key
// without a certificate, or tokens that anybody on the way could read.
absl::Status ValidateIdentity(const config::v1::ServerOptions& options);

// Thread-safe.
class Identity {
 public:
  // Reads all files, then looks at them once a second. `metrics` must outlive
  // it. InvalidArgument: ValidateIdentity(), or what is wrong with a file.
  static absl::StatusOr<std::unique_ptr<Identity>> Open(
      const config::v1::ServerOptions& options, Metrics* metrics);
  ~Identity();  // Stop()
  Identity(const Identity&) = delete;
  Identity& operator=(const Identity&) = delete;

  // Ends its thread; no metric is touched afterwards.
  void Stop();

  // Takes up what has changed. A file that is wrong is logged, counted, and
  // what was read before stays. It is read again once it changes, and every
  // kRetrySeconds, because what was wrong may have been of the moment.
  void Reload();
  // Reads all files, whether they have changed or not.
  void Reread();

  static constexpr int kRetrySeconds = 10;

  // For the ports of a server that this must outlive.
  std::shared_ptr<grpc::ServerCredentials> MakeCredentials() const;

  // Null: everybody may call everything.
  const Authorizer* authorizer() const { return authorizer_.get(); }

 private:
  Identity(const config::v1::ServerOptions& options, Metrics* metrics);

  absl::Status ReadTls();
  absl::Status ReadTokens();
  // Serves when the token of each caller ends.
  void SetTokenGauges(const std::map<std::string, int64_t>& end_times_s);
  // Files that are read together.
  struct FileGroup {
    std::vector<std::string> files;
    absl::Status (Identity::*read)();
    // What Fingerprint() was when they were read last.
    std::string known = {};
    std::chrono::steady_clock::time_point retry = kNever;
  };
  static constexpr auto kNever = std::chrono::steady_clock::time_point::max();

  // Returns a text that changes when one of the files does.
  static std::string Fingerprint(const std::vector<std::string>& files);
  // Reads the files if they have changed, or it is time to try again.
  void Reload(FileGroup* group);
  void Run();

  const config::v1::TlsOptions tls_;
  const std::string token_file_;
  MetricCounter* const failures_;
  Metrics* const metrics_;
  std::unique_ptr<TlsSource> source_;  // Null: no TLS.
  std::unique_ptr<Authorizer> authorizer_;
  // Whose gauges there are. Only ReadTokens() uses it, one call at a time.
  std::map<std::string, int64_t> token_gauges_;
  std::mutex reload_mutex_;
  std::vector<FileGroup> groups_;  // Guarded by `reload_mutex_`.
  std::mutex mutex_;
  std::condition_variable ends_;
  bool ended_ = false;  // Guarded by `mutex_`.
  std::thread thread_;
};

}  // namespace sortition
