#include "sidecar/stream/nats_stream.h"

#include <nats/nats.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "sidecar/stream/nats_connection.h"

namespace sortition {
namespace {

constexpr int64_t kAckWaitNs = 30'000'000'000;
constexpr double kNsPerSecond = 1e9;

using Subscription = OwnedNats<natsSubscription, natsSubscription_Destroy>;
using Context = OwnedNats<jsCtx, jsCtx_Destroy>;
using StreamInfo = OwnedNats<jsStreamInfo, jsStreamInfo_Destroy>;
using ConsumerInfo = OwnedNats<jsConsumerInfo, jsConsumerInfo_Destroy>;
using PubAck = OwnedNats<jsPubAck, jsPubAck_Destroy>;
using Metadata = OwnedNats<jsMsgMetaData, jsMsgMetaData_Destroy>;

// Returns the id under which a message was published.
std::string IdHeaderOf(natsMsg* message) {
  const char* id = nullptr;
  return natsMsgHeader_Get(message, "Nats-Msg-Id", &id) == NATS_OK ? id : "";
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
  absl::StatusOr<uint64_t> NewestOf(const std::string& subject) override;
  absl::StatusOr<std::optional<std::string>> IdOf(uint64_t sequence) override;
  absl::StatusOr<Published> Publish(const std::string& subject, uint64_t newest,
                                    const std::string& id,
                                    absl::string_view data) override;
  absl::Status StartAt(uint64_t sequence) override;
  absl::StatusOr<std::vector<ReceivedMessage>> Fetch(int most,
                                                     double seconds) override;
  uint64_t num_pending() const override { return num_pending_; }
  void Acknowledge() override;
  absl::Status RemoveBefore(uint64_t sequence) override;

 private:
  using Message = OwnedNats<natsMsg, natsMsg_Destroy>;

  absl::Status Connect();
  absl::StatusOr<StreamInfo> FindStream();
  absl::StatusOr<StreamInfo> MakeStream(jsStreamInfo* present);

  const NatsStreamOptions options_;
  NatsConnection connection_;
  Context context_;
  Subscription subscription_;
  bool is_made_ = false;
  uint64_t num_reconnects_ = 0;   // At StartAt().
  std::vector<Message> fetched_;  // Not acknowledged.
  uint64_t num_pending_ = 0;
};

absl::Status NatsStream::Connect() {
  if (connection_ != nullptr && !natsConnection_IsClosed(connection_.get())) {
    return absl::OkStatus();
  }
  subscription_.reset();
  context_.reset();
  connection_.reset();
  ASSIGN_OR_RETURN(connection_, ConnectToNats(options_.url, options_.nats));
  jsOptions options;
  jsOptions_Init(&options);
  options.Wait = NatsTimeoutMs(options_.nats);
  jsCtx* context = nullptr;
  const natsStatus status =
      natsConnection_JetStream(&context, connection_.get(), &options);
  context_.reset(context);
  if (status != NATS_OK) connection_.reset();
  return NatsToStatus(status, "JetStream");
}

absl::StatusOr<StreamInfo> NatsStream::FindStream() {
  RETURN_IF_ERROR(Connect());
  jsStreamInfo* info = nullptr;
  jsErrCode code{};
  const natsStatus status = js_GetStreamInfo(
      &info, context_.get(), options_.stream.c_str(), nullptr, &code);
  StreamInfo owned(info);
  // A broker that has lost its disk has lost the stream, too.
  if (options_.make_stream &&
      (status == NATS_NOT_FOUND || (status == NATS_OK && !is_made_))) {
    return MakeStream(info);
  }
  RETURN_IF_ERROR(
      NatsToStatus(status, code, absl::StrCat("stream ", options_.stream)));
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
  RETURN_IF_ERROR(NatsToStatus(
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

absl::StatusOr<uint64_t> NatsStream::NewestOf(const std::string& subject) {
  RETURN_IF_ERROR(Connect());
  natsMsg* message = nullptr;
  jsErrCode code{};
  const natsStatus status =
      js_GetLastMsg(&message, context_.get(), options_.stream.c_str(),
                    subject.c_str(), nullptr, &code);
  const Message owned(message);
  if (status == NATS_NOT_FOUND) return 0;
  RETURN_IF_ERROR(NatsToStatus(status, code, "cannot get the newest message"));
  return natsMsg_GetSequence(message);
}

absl::StatusOr<std::optional<std::string>> NatsStream::IdOf(uint64_t sequence) {
  RETURN_IF_ERROR(Connect());
  natsMsg* message = nullptr;
  jsErrCode code{};
  const natsStatus status =
      js_GetMsg(&message, context_.get(), options_.stream.c_str(), sequence,
                nullptr, &code);
  const Message owned(message);
  if (status == NATS_NOT_FOUND) return std::nullopt;
  RETURN_IF_ERROR(NatsToStatus(status, code, "cannot get a message"));
  return IdHeaderOf(message);
}

absl::StatusOr<Published> NatsStream::Publish(const std::string& subject,
                                              uint64_t newest,
                                              const std::string& id,
                                              absl::string_view data) {
  RETURN_IF_ERROR(Connect());
  jsPubOptions options;
  jsPubOptions_Init(&options);
  options.MsgId = id.c_str();
  options.ExpectLastSubjectSeq = newest;
  options.ExpectNoMessage = newest == 0;
  options.ExpectStream = options_.stream.c_str();
  options.MaxWait = NatsTimeoutMs(options_.nats);
  jsPubAck* ack = nullptr;
  jsErrCode code{};
  const natsStatus status =
      js_Publish(&ack, context_.get(), subject.c_str(), data.data(),
                 static_cast<int>(data.size()), &options, &code);
  const PubAck owned(ack);
  if (code == JSStreamWrongLastSequenceErr) {
    return absl::AbortedError(absl::StrCat("the newest message of ", subject,
                                           " is not the one expected"));
  }
  RETURN_IF_ERROR(
      NatsToStatus(status, code, absl::StrCat("cannot publish to ", subject)));
  return Published{ack->Sequence, ack->Duplicate};
}

// The place is ours alone: the broker's memory of it is made anew.
absl::Status NatsStream::StartAt(uint64_t sequence) {
  RETURN_IF_ERROR(Connect());
  ASSIGN_OR_RETURN(num_reconnects_, NumReconnects(connection_.get()));
  fetched_.clear();
  subscription_.reset();
  const char* const stream = options_.stream.c_str();
  jsErrCode code{};
  const natsStatus deleted = js_DeleteConsumer(
      context_.get(), stream, options_.durable.c_str(), nullptr, &code);
  if (deleted != NATS_NOT_FOUND) {
    RETURN_IF_ERROR(NatsToStatus(deleted, code, "cannot delete the consumer"));
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
  RETURN_IF_ERROR(NatsToStatus(
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
  return NatsToStatus(status, code, "cannot subscribe");
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
  fetched_.clear();
  for (int i = 0; i < list.Count; ++i) {
    fetched_.emplace_back(std::exchange(list.Msgs[i], nullptr));
  }
  natsMsgList_Destroy(&list);
  // Servers that are away are silent, too.
  ASSIGN_OR_RETURN(const uint64_t num_reconnects,
                   NumReconnects(connection_.get()));
  if (num_reconnects != num_reconnects_ ||
      natsConnection_Status(connection_.get()) != NATS_CONN_STATUS_CONNECTED) {
    return absl::UnavailableError("the connection to NATS was broken");
  }
  std::vector<ReceivedMessage> messages;
  if (status == NATS_TIMEOUT) return messages;
  RETURN_IF_ERROR(NatsToStatus(status, code, "cannot fetch messages"));
  for (const Message& message : fetched_) {
    jsMsgMetaData* metadata = nullptr;
    RETURN_IF_ERROR(NatsToStatus(natsMsg_GetMetaData(&metadata, message.get()),
                                 "metadata"));
    const Metadata owned(metadata);
    num_pending_ = metadata->NumPending;
    messages.push_back(
        {metadata->Sequence.Stream, IdHeaderOf(message.get()),
         std::string(natsMsg_GetData(message.get()),
                     static_cast<size_t>(natsMsg_GetDataLength(message.get()))),
         natsMsg_GetSubject(message.get())});
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
  options.Wait = NatsTimeoutMs(options_.nats);
  options.Stream.Purge.Sequence = sequence;
  jsErrCode code{};
  const natsStatus status =
      js_PurgeStream(context_.get(), options_.stream.c_str(), &options, &code);
  return NatsToStatus(status, code, "cannot remove old messages");
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
