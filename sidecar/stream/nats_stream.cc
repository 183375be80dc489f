#include "sidecar/stream/nats_stream.h"

#include <nats/nats.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/status_macros.h"
#include "io/files.h"

namespace sortition {
namespace {

constexpr int64_t kReconnectMs = 250;
constexpr int64_t kAckWaitNs = 30'000'000'000;
constexpr double kNsPerSecond = 1e9;

template <typename T, void (*Destroy)(T*)>
struct Destroyer {
  void operator()(T* object) const { Destroy(object); }
};
template <typename T, void (*Destroy)(T*)>
using Owned = std::unique_ptr<T, Destroyer<T, Destroy>>;

using Connection = Owned<natsConnection, natsConnection_Destroy>;
using Subscription = Owned<natsSubscription, natsSubscription_Destroy>;
using Context = Owned<jsCtx, jsCtx_Destroy>;
using Settings = Owned<natsOptions, natsOptions_Destroy>;
using StreamInfo = Owned<jsStreamInfo, jsStreamInfo_Destroy>;
using ConsumerInfo = Owned<jsConsumerInfo, jsConsumerInfo_Destroy>;
using PubAck = Owned<jsPubAck, jsPubAck_Destroy>;
using Metadata = Owned<jsMsgMetaData, jsMsgMetaData_Destroy>;

absl::Status ToStatus(natsStatus status, jsErrCode code,
                      absl::string_view what) {
  if (status == NATS_OK) return absl::OkStatus();
  const char* const last = nats_GetLastError(nullptr);
  return absl::UnavailableError(absl::StrCat(
      what, ": ", natsStatus_GetText(status),
      code != 0 ? absl::StrCat(" (JetStream error ", code, ")") : "",
      last != nullptr && *last != 0 ? absl::StrCat(": ", last) : ""));
}

absl::Status ToStatus(natsStatus status, absl::string_view what) {
  return ToStatus(status, jsErrCode{}, what);
}

absl::Status ValidateName(absl::string_view option, absl::string_view name) {
  const bool is_good =
      !name.empty() && name.size() <= 64 &&
      std::all_of(name.begin(), name.end(), [](char c) {
        return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_' ||
               c == '-';
      });
  if (is_good) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      option, " = '", name, "': must be 1 to 64 letters, digits, '_' or '-'"));
}

class NatsStream : public MessageStream {
 public:
  explicit NatsStream(NatsStreamOptions options)
      : options_(std::move(options)) {}

  absl::StatusOr<StreamState> State() override;
  absl::StatusOr<uint64_t> MaxMessageBytes() override;
  absl::StatusOr<Published> Publish(const std::string& subject,
                                    const std::string& id,
                                    absl::string_view data) override;
  absl::Status StartAt(uint64_t sequence) override;
  absl::StatusOr<std::vector<ReceivedMessage>> Fetch(int most,
                                                     double seconds) override;
  uint64_t num_pending() const override { return num_pending_; }
  void Acknowledge() override;
  absl::Status RemoveBefore(uint64_t sequence) override;

 private:
  using Message = Owned<natsMsg, natsMsg_Destroy>;

  absl::Status Connect();
  absl::Status SetOptions(natsOptions* settings) const;
  absl::Status SetIdentity(natsOptions* settings) const;
  absl::StatusOr<StreamInfo> FindStream();
  absl::StatusOr<StreamInfo> MakeStream(jsStreamInfo* present);
  int64_t TimeoutMs() const {
    return static_cast<int64_t>(options_.nats.timeout_seconds() * 1e3);
  }

  const NatsStreamOptions options_;
  Connection connection_;
  Context context_;
  Subscription subscription_;
  bool is_made_ = false;
  std::vector<Message> fetched_;  // Not acknowledged.
  uint64_t num_pending_ = 0;
};

absl::Status NatsStream::SetIdentity(natsOptions* settings) const {
  const config::v1::NatsOptions& nats = options_.nats;
  natsStatus status = NATS_OK;
  if (!nats.ca_file().empty()) {
    status = natsOptions_SetSecure(settings, true);
    if (status == NATS_OK) {
      status = natsOptions_LoadCATrustedCertificates(settings,
                                                     nats.ca_file().c_str());
    }
    RETURN_IF_ERROR(ToStatus(
        status, absl::StrCat("nats.ca_file = '", nats.ca_file(), "'")));
  }
  if (!nats.cert_file().empty()) {
    status = natsOptions_LoadCertificatesChain(
        settings, nats.cert_file().c_str(), nats.key_file().c_str());
    RETURN_IF_ERROR(ToStatus(
        status, absl::StrCat("nats.cert_file = '", nats.cert_file(),
                             "', nats.key_file = '", nats.key_file(), "'")));
  }
  if (!nats.credentials_file().empty()) {
    status = natsOptions_SetUserCredentialsFromFiles(
        settings, nats.credentials_file().c_str(), nullptr);
  }
  if (status == NATS_OK && !nats.user().empty()) {
    ASSIGN_OR_RETURN(const std::string password,
                     ReadFile(nats.password_file()));
    status = natsOptions_SetUserInfo(
        settings, nats.user().c_str(),
        std::string(absl::StripAsciiWhitespace(password)).c_str());
  }
  return ToStatus(status, "credentials of NATS");
}

absl::Status NatsStream::SetOptions(natsOptions* settings) const {
  const std::vector<std::string> urls =
      absl::StrSplit(options_.url, ',', absl::SkipWhitespace());
  std::vector<const char*> servers;
  for (const std::string& url : urls) servers.push_back(url.c_str());
  natsStatus status = natsOptions_SetServers(settings, servers.data(),
                                             static_cast<int>(servers.size()));
  if (status == NATS_OK) status = natsOptions_SetMaxReconnect(settings, -1);
  if (status == NATS_OK) {
    status = natsOptions_SetReconnectWait(settings, kReconnectMs);
  }
  if (status == NATS_OK) {
    status = natsOptions_SetTimeout(settings, TimeoutMs());
  }
  if (status == NATS_OK) {
    // Nothing waits for a server inside the library: the spool keeps it.
    status = natsOptions_SetFailRequestsOnDisconnect(settings, true);
  }
  if (status == NATS_OK) status = natsOptions_SetSendAsap(settings, true);
  if (status == NATS_OK) status = natsOptions_SetName(settings, "sortition");
  RETURN_IF_ERROR(
      ToStatus(status, absl::StrCat("NATS url '", options_.url, "'")));
  return SetIdentity(settings);
}

absl::Status NatsStream::Connect() {
  if (connection_ != nullptr && !natsConnection_IsClosed(connection_.get())) {
    return absl::OkStatus();
  }
  subscription_.reset();
  context_.reset();
  connection_.reset();
  natsOptions* settings = nullptr;
  RETURN_IF_ERROR(ToStatus(natsOptions_Create(&settings), "NATS options"));
  const Settings owned(settings);
  RETURN_IF_ERROR(SetOptions(settings));
  natsConnection* connection = nullptr;
  RETURN_IF_ERROR(ToStatus(natsConnection_Connect(&connection, settings),
                           absl::StrCat("cannot connect to ", options_.url)));
  connection_.reset(connection);
  jsOptions options;
  jsOptions_Init(&options);
  options.Wait = TimeoutMs();
  jsCtx* context = nullptr;
  const natsStatus status =
      natsConnection_JetStream(&context, connection, &options);
  context_.reset(context);
  if (status != NATS_OK) connection_.reset();
  return ToStatus(status, "JetStream");
}

absl::StatusOr<StreamInfo> NatsStream::FindStream() {
  RETURN_IF_ERROR(Connect());
  jsStreamInfo* info = nullptr;
  jsErrCode code{};
  const natsStatus status = js_GetStreamInfo(
      &info, context_.get(), options_.stream.c_str(), nullptr, &code);
  StreamInfo owned(info);
  if (options_.make_stream && !is_made_ &&
      (status == NATS_OK || status == NATS_NOT_FOUND)) {
    return MakeStream(info);
  }
  RETURN_IF_ERROR(
      ToStatus(status, code, absl::StrCat("stream ", options_.stream)));
  return owned;
}

// Makes the stream, or gives it the options of today. What is full refuses new
// messages: to drop old ones would lose decisions silently.
absl::StatusOr<StreamInfo> NatsStream::MakeStream(jsStreamInfo* present) {
  jsStreamConfig config;
  jsStreamConfig_Init(&config);
  const std::string subjects = options_.stream + ".>";
  const char* list[] = {subjects.c_str()};
  config.Name = options_.stream.c_str();
  config.Subjects = list;
  config.SubjectsLen = 1;
  config.Storage = js_FileStorage;
  config.Retention = js_LimitsPolicy;
  config.Discard = js_DiscardNew;
  config.Replicas = options_.replicas;
  config.MaxBytes = static_cast<int64_t>(options_.max_bytes);
  config.Duplicates =
      static_cast<int64_t>(options_.duplicate_window_seconds * kNsPerSecond);
  jsStreamInfo* info = nullptr;
  jsErrCode code{};
  const natsStatus status =
      present == nullptr
          ? js_AddStream(&info, context_.get(), &config, nullptr, &code)
          : js_UpdateStream(&info, context_.get(), &config, nullptr, &code);
  StreamInfo owned(info);
  RETURN_IF_ERROR(ToStatus(
      status, code,
      absl::StrCat("cannot ", present == nullptr ? "make" : "update",
                   " stream ", options_.stream, " with ", options_.replicas,
                   " replicas and max_bytes ", options_.max_bytes)));
  is_made_ = true;
  return owned;
}

absl::StatusOr<StreamState> NatsStream::State() {
  ASSIGN_OR_RETURN(const StreamInfo info, FindStream());
  StreamState state;
  state.created_ns = info->Created;
  state.first_sequence = info->State.FirstSeq;
  state.last_sequence = info->State.LastSeq;
  state.bytes = info->State.Bytes;
  state.max_bytes =
      static_cast<uint64_t>(std::max<int64_t>(0, info->Config->MaxBytes));
  return state;
}

absl::StatusOr<uint64_t> NatsStream::MaxMessageBytes() {
  RETURN_IF_ERROR(Connect());
  return static_cast<uint64_t>(
      std::max<int64_t>(0, natsConnection_GetMaxPayload(connection_.get())));
}

absl::StatusOr<Published> NatsStream::Publish(const std::string& subject,
                                              const std::string& id,
                                              absl::string_view data) {
  RETURN_IF_ERROR(Connect());
  jsPubOptions options;
  jsPubOptions_Init(&options);
  options.MsgId = id.c_str();
  options.ExpectStream = options_.stream.c_str();
  options.MaxWait = TimeoutMs();
  jsPubAck* ack = nullptr;
  jsErrCode code{};
  const natsStatus status =
      js_Publish(&ack, context_.get(), subject.c_str(), data.data(),
                 static_cast<int>(data.size()), &options, &code);
  const PubAck owned(ack);
  RETURN_IF_ERROR(
      ToStatus(status, code, absl::StrCat("cannot publish to ", subject)));
  return Published{ack->Sequence, ack->Duplicate};
}

// The place is ours alone: the broker's memory of it is made anew.
absl::Status NatsStream::StartAt(uint64_t sequence) {
  RETURN_IF_ERROR(Connect());
  fetched_.clear();
  subscription_.reset();
  const char* const stream = options_.stream.c_str();
  jsErrCode code{};
  const natsStatus deleted = js_DeleteConsumer(
      context_.get(), stream, options_.durable.c_str(), nullptr, &code);
  if (deleted != NATS_NOT_FOUND) {
    RETURN_IF_ERROR(ToStatus(deleted, code, "cannot delete the consumer"));
  }
  jsConsumerConfig config;
  jsConsumerConfig_Init(&config);
  config.Durable = options_.durable.c_str();
  config.DeliverPolicy = js_DeliverByStartSequence;
  config.OptStartSeq = std::max<uint64_t>(1, sequence);
  config.AckPolicy = js_AckExplicit;
  config.AckWait = kAckWaitNs;
  jsConsumerInfo* info = nullptr;
  natsStatus status =
      js_AddConsumer(&info, context_.get(), stream, &config, nullptr, &code);
  const ConsumerInfo owned(info);
  RETURN_IF_ERROR(ToStatus(
      status, code, absl::StrCat("cannot make consumer ", options_.durable)));
  num_pending_ = info->NumPending;
  jsSubOptions options;
  jsSubOptions_Init(&options);
  options.Stream = stream;
  options.Consumer = options_.durable.c_str();
  natsSubscription* subscription = nullptr;
  status = js_PullSubscribe(&subscription, context_.get(), nullptr,
                            options_.durable.c_str(), nullptr, &options, &code);
  subscription_.reset(subscription);
  return ToStatus(status, code, "cannot subscribe");
}

absl::StatusOr<std::vector<ReceivedMessage>> NatsStream::Fetch(int most,
                                                               double seconds) {
  if (subscription_ == nullptr) {
    return absl::UnavailableError("the connection to NATS was closed");
  }
  natsMsgList list = {nullptr, 0};
  jsErrCode code{};
  const natsStatus status = natsSubscription_Fetch(
      &list, subscription_.get(), most,
      std::max<int64_t>(1, static_cast<int64_t>(seconds * 1e3)), &code);
  std::vector<ReceivedMessage> messages;
  if (status == NATS_TIMEOUT) {
    // Servers that are away are silent, too.
    if (natsConnection_Status(connection_.get()) ==
        NATS_CONN_STATUS_CONNECTED) {
      return messages;
    }
    return absl::UnavailableError("the connection to NATS is broken");
  }
  RETURN_IF_ERROR(ToStatus(status, code, "cannot fetch messages"));
  fetched_.clear();
  for (int i = 0; i < list.Count; ++i) {
    fetched_.emplace_back(std::exchange(list.Msgs[i], nullptr));
  }
  natsMsgList_Destroy(&list);
  for (const Message& message : fetched_) {
    jsMsgMetaData* metadata = nullptr;
    RETURN_IF_ERROR(
        ToStatus(natsMsg_GetMetaData(&metadata, message.get()), "metadata"));
    const Metadata owned(metadata);
    num_pending_ = metadata->NumPending;
    messages.push_back({metadata->Sequence.Stream,
                        std::string(natsMsg_GetData(message.get()),
                                    static_cast<size_t>(natsMsg_GetDataLength(
                                        message.get())))});
  }
  return messages;
}

// A lost acknowledgement makes a message come again, and nothing else.
void NatsStream::Acknowledge() {
  for (const Message& message : fetched_) natsMsg_Ack(message.get(), nullptr);
  fetched_.clear();
}

absl::Status NatsStream::RemoveBefore(uint64_t sequence) {
  RETURN_IF_ERROR(Connect());
  jsOptions options;
  jsOptions_Init(&options);
  options.Wait = TimeoutMs();
  options.Stream.Purge.Sequence = sequence;
  jsErrCode code{};
  const natsStatus status =
      js_PurgeStream(context_.get(), options_.stream.c_str(), &options, &code);
  return ToStatus(status, code, "cannot remove old messages");
}

}  // namespace

absl::StatusOr<std::unique_ptr<MessageStream>> OpenNatsStream(
    NatsStreamOptions options) {
  RETURN_IF_ERROR(ValidateName("stream", options.stream));
  if (!options.durable.empty()) {
    RETURN_IF_ERROR(ValidateName("consume.durable", options.durable));
  }
  const config::v1::NatsOptions& nats = options.nats;
  if (nats.cert_file().empty() != nats.key_file().empty()) {
    return absl::InvalidArgumentError(
        "nats.cert_file and nats.key_file must be set both or not at all");
  }
  if (nats.user().empty() != nats.password_file().empty()) {
    return absl::InvalidArgumentError(
        "nats.user and nats.password_file must be set both or not at all");
  }
  return std::make_unique<NatsStream>(std::move(options));
}

bool HasNats() { return true; }

}  // namespace sortition
