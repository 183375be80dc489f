#include "server/identity/identity.h"

#include <sys/stat.h>

#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "core/base/status_macros.h"
#include "io/models/regular_file.h"
#include "process/http/same_site.h"
#include "process/log.h"

namespace sortition {
namespace {

constexpr uint64_t kMaxTokenFileBytes = 16 << 20;

}  // namespace

absl::Status ValidateIdentity(const config::v1::ServerOptions& options) {
  const config::v1::TlsOptions& tls = options.tls();
  if (tls.certificate_file().empty() != tls.key_file().empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "tls.certificate_file = \"", tls.certificate_file(),
        "\", tls.key_file = \"", tls.key_file(), "\": must be given together"));
  }
  if (tls.certificate_file().empty() && !tls.client_ca_file().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("tls.client_ca_file = \"", tls.client_ca_file(),
                     "\": needs tls.certificate_file and tls.key_file"));
  }
  if (options.token_file().empty() || options.plaintext_tokens()) {
    return absl::OkStatus();
  }
  const std::string& http = options.http().listen();
  if (!http.empty() && !IsLoopbackHost(http)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "token_file = \"", options.token_file(), "\" with http.listen = \"",
        http,
        "\": tokens would be readable on the way, because HTTP has no TLS "
        "here; "
        "give an address of this machine alone, or plaintext_tokens where "
        "something else encrypts"));
  }
  if (!tls.certificate_file().empty()) return absl::OkStatus();
  for (const auto& [name, address] :
       {std::pair("listen", options.listen()),
        std::pair("control_listen", options.control_listen())}) {
    if (address.empty() || IsLoopbackHost(address)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "token_file = \"", options.token_file(), "\" with ", name, " = \"",
        address,
        "\": tokens would be readable on the way; give tls.certificate_file, "
        "or plaintext_tokens where something else encrypts"));
  }
  return absl::OkStatus();
}

Identity::Identity(const config::v1::ServerOptions& options, Metrics* metrics)
    : tls_(options.tls()),
      token_file_(options.token_file()),
      failures_(metrics->Counter(
          "sortition_identity_reload_failures_total",
          "Times that a changed certificate, key or token file was wrong, so "
          "that what was read before stays")),
      metrics_(metrics) {}

absl::StatusOr<std::unique_ptr<Identity>> Identity::Open(
    const config::v1::ServerOptions& options, Metrics* metrics) {
  RETURN_IF_ERROR(ValidateIdentity(options));
  auto identity = std::unique_ptr<Identity>(new Identity(options, metrics));
  const config::v1::TlsOptions& tls = identity->tls_;
  std::vector<FileGroup>& groups = identity->groups_;
  if (!tls.certificate_file().empty()) {
    groups.push_back(
        {{tls.certificate_file(), tls.key_file(), tls.client_ca_file()},
         &Identity::ReadTls});
  }
  if (!identity->token_file_.empty()) {
    groups.push_back({{identity->token_file_}, &Identity::ReadTokens});
  }
  for (FileGroup& group : groups) {
    // Before the files are read: a change meanwhile is seen later.
    group.known = Fingerprint(group.files);
    RETURN_IF_ERROR((identity.get()->*group.read)());
  }
  if (!groups.empty()) {
    identity->thread_ = std::thread(&Identity::Run, identity.get());
  }
  return identity;
}

Identity::~Identity() { Stop(); }

void Identity::Stop() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  ends_.notify_all();
  if (thread_.joinable()) thread_.join();
}

absl::Status Identity::ReadTls() {
  ASSIGN_OR_RETURN(TlsMaterial material, ReadTlsMaterial(tls_));
  const int64_t expires = material.expires_time_s;
  if (expires <= absl::ToUnixSeconds(absl::Now())) {
    const std::string what = absl::StrCat(
        "tls.certificate_file = \"", tls_.certificate_file(),
        "\": it, or a certificate of its chain, has expired: clients refuse "
        "it; replace it");
    if (source_ != nullptr) return absl::InvalidArgumentError(what);
    LogError(what);
  }
  if (source_ == nullptr) {
    source_ = std::make_unique<TlsSource>(std::move(material));
  } else {
    source_->Set(std::move(material));
  }
  metrics_
      ->Gauge("sortition_certificate_expiry_timestamp_seconds",
              "Time at which the first certificate of the chain that is "
              "served expires, seconds since the epoch")
      ->Set(static_cast<double>(expires));
  LogInfo("certificate taken up",
          {{"file", tls_.certificate_file()}, {"expires_time_s", expires}});
  return absl::OkStatus();
}

absl::Status Identity::ReadTokens() {
  const auto text = ReadRegularFile(token_file_, kMaxTokenFileBytes);
  if (!text.ok()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "token_file = \"", token_file_, "\": ", text.status().message()));
  }
  ASSIGN_OR_RETURN(TokenTable table, TokenTable::Parse(*text, token_file_));
  // A file is empty for a moment while a program rewrites it in place.
  if (table.size() == 0 && authorizer_ != nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("token_file = \"", token_file_,
                     "\": has no token, so nobody could call; must have one "
                     "or more lines ROLES NAME SHA256 [UNTIL] (one whose time "
                     "is over locks everybody out)"));
  }
  LogInfo("tokens taken up", {{"file", token_file_}, {"tokens", table.size()}});
  SetTokenGauges(table.EndTimes());
  if (authorizer_ == nullptr) {
    authorizer_ = std::make_unique<Authorizer>(std::move(table));
  } else {
    authorizer_->Set(std::move(table));
  }
  return absl::OkStatus();
}

void Identity::SetTokenGauges(
    const std::map<std::string, int64_t>& end_times_s) {
  constexpr char kName[] = "sortition_token_expiry_timestamp_seconds";
  for (const auto& [caller, end_s] : token_gauges_) {
    if (!end_times_s.contains(caller)) {
      metrics_->RemoveGauge(kName, {{"caller", caller}});
    }
  }
  for (const auto& [caller, end_s] : end_times_s) {
    metrics_
        ->Gauge(kName,
                "End of the time of the caller's last token, seconds since the "
                "epoch",
                {{"caller", caller}})
        ->Set(static_cast<double>(end_s));
  }
  token_gauges_ = end_times_s;
}

std::string Identity::Fingerprint(const std::vector<std::string>& files) {
  std::string text;
  for (const std::string& file : files) {
    struct stat info = {};
    if (::stat(file.c_str(), &info) != 0) continue;
    absl::StrAppend(&text, file, ":", info.st_ino, ":", info.st_size, ":",
                    info.st_ctim.tv_sec, ".", info.st_ctim.tv_nsec, "\n");
  }
  return text;
}

void Identity::Reload(FileGroup* group) {
  std::string now = Fingerprint(group->files);
  const auto time = std::chrono::steady_clock::now();
  if (now == group->known && time < group->retry) return;
  group->known = std::move(now);
  group->retry = kNever;
  const absl::Status status = (this->*group->read)();
  if (status.ok()) return;
  group->retry = time + std::chrono::seconds(kRetrySeconds);
  failures_->Increment();
  LogError("identity not reloaded: what was read before stays",
           {{"reason", status.message()}});
}

void Identity::Reload() {
  const std::lock_guard lock(reload_mutex_);
  for (FileGroup& group : groups_) Reload(&group);
}

void Identity::Reread() {
  const std::lock_guard lock(reload_mutex_);
  for (FileGroup& group : groups_) {
    group.retry = {};
    Reload(&group);
  }
}

void Identity::Run() {
  std::unique_lock lock(mutex_);
  while (!ends_.wait_for(lock, std::chrono::seconds(1),
                         [this] { return ended_; })) {
    lock.unlock();
    Reload();
    lock.lock();
  }
}

std::shared_ptr<grpc::ServerCredentials> Identity::MakeCredentials() const {
  if (source_ == nullptr) return grpc::InsecureServerCredentials();
  return MakeTlsCredentials(source_.get(), !tls_.client_ca_file().empty());
}

}  // namespace sortition
