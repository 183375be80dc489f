#pragma once
// Who the server is, and who may call it: certificates and tokens, read again
// when their files change.
#include <grpcpp/security/server_credentials.h>

#include <atomic>
#include <condition_variable>
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
  ~Identity();
  Identity(const Identity&) = delete;
  Identity& operator=(const Identity&) = delete;

  // Takes up what has changed. A file that is wrong is logged, counted, and
  // what was read before stays.
  void Reload();

  // For the ports of a server that this must outlive.
  std::shared_ptr<grpc::ServerCredentials> MakeCredentials() const;

  // Null: everybody may call everything.
  const Authorizer* authorizer() const { return authorizer_.get(); }

 private:
  Identity(const config::v1::ServerOptions& options, Metrics* metrics);

  absl::Status ReadTls();
  absl::Status ReadTokens();
  // Returns a text that changes when one of the files does.
  std::string Fingerprint(const std::vector<std::string>& files) const;
  void ReloadIfChanged(const std::vector<std::string>& files,
                       std::string* known, absl::Status (Identity::*read)());
  void Run();

  const config::v1::TlsOptions tls_;
  const std::string token_file_;
  const std::vector<std::string> tls_files_;
  MetricCounter* const failures_;
  Metrics* const metrics_;
  std::unique_ptr<TlsSource> source_;  // Null: no TLS.
  std::unique_ptr<Authorizer> authorizer_;
  std::mutex reload_mutex_;
  std::string known_tls_;  // Guarded by `reload_mutex_`; so is the next.
  std::string known_tokens_;
  std::mutex mutex_;
  std::condition_variable ends_;
  bool ended_ = false;  // Guarded by `mutex_`.
  std::thread thread_;
};

}  // namespace sortition
