#include "client/rpc/client.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/rpc/uuid.h"
#include "core/base/hash.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/support/channel_arguments.h"
#include "grpcpp/support/status.h"
#include "sortition/v1/models.grpc.pb.h"
#include "sortition/v1/ranking.grpc.pb.h"

namespace sortition {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kReconnectMilliseconds = 100;
constexpr int kMaxReconnectMilliseconds = 2000;

std::shared_ptr<grpc::Channel> MakeChannel(const std::string& address,
                                           const Credentials& credentials) {
  grpc::ChannelArguments arguments;
  if (!credentials.server_name.empty()) {
    arguments.SetSslTargetNameOverride(credentials.server_name);
  }
  // Otherwise, channels to one address share connections.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  // Short, so that a retry finds a server that came back, and does not wait for
  // the channel's own back-off.
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS,
                   kReconnectMilliseconds);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS,
                   kMaxReconnectMilliseconds);
  arguments.SetMaxReceiveMessageSize(-1);
  return grpc::CreateCustomChannel(address, credentials.channel, arguments);
}

// Returns the addresses in `list`; one of gRPC's own lists is one address.
std::vector<std::string> SplitAddresses(const std::string& list) {
  if (absl::StartsWith(list, "ipv4:") || absl::StartsWith(list, "ipv6:")) {
    return {list};
  }
  return absl::StrSplit(list, ',');
}

absl::Status Validate(const std::string& address, const CallOptions& options) {
  for (const std::string& server : SplitAddresses(address)) {
    if (!server.empty()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("server is \"", address,
                     "\", must be host:port, or several, separated by commas"));
  }
  if (!(options.deadline_seconds > 0) ||
      !std::isfinite(options.deadline_seconds)) {
    return absl::InvalidArgumentError(
        absl::StrCat("deadline_seconds is ", options.deadline_seconds,
                     ", must be positive and finite"));
  }
  if (options.max_attempts < 1) {
    return absl::InvalidArgumentError("max_attempts is 0, must be at least 1");
  }
  if (!(options.first_backoff_seconds >= 0) ||
      !(options.max_backoff_seconds >= options.first_backoff_seconds)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "first_backoff_seconds is ", options.first_backoff_seconds,
        ", must be in [0, max_backoff_seconds = ", options.max_backoff_seconds,
        "]"));
  }
  return absl::OkStatus();
}

void FillDecisionId(v1::DecisionContext* context) {
  if (context->decision_id().empty()) context->set_decision_id(MakeUuidV7());
}

// Null where the request is of no kind: the server says so.
v1::DecisionContext* ContextOf(v1::RankStreamRequest* request) {
  switch (request->request_case()) {
    case v1::RankStreamRequest::kRank:
      return request->mutable_rank()->mutable_context();
    case v1::RankStreamRequest::kSelect:
      return request->mutable_select()->mutable_context();
    case v1::RankStreamRequest::kLabel:
      return request->mutable_label()->mutable_context();
    case v1::RankStreamRequest::REQUEST_NOT_SET:
      break;
  }
  return nullptr;
}

// Sends the requests at `places` from the `answered`-th on, and counts those
// that are answered. A server lets 64 wait, so that neither side fills up.
grpc::Status AskOverStream(v1::Ranking::Stub* ranking,
                           grpc::ClientContext* context,
                           const std::vector<v1::RankStreamRequest>& requests,
                           const std::vector<size_t>& places, size_t* answered,
                           std::vector<v1::RankStreamResponse>* answers) {
  constexpr size_t kUnderWay = 32;
  const auto stream = ranking->RankStream(context);
  bool is_open = true;
  for (size_t sent = *answered; *answered < places.size(); ++*answered) {
    while (is_open && sent < places.size() && sent < *answered + kUnderWay) {
      is_open = stream->Write(requests[places[sent++]]);
    }
    if (!stream->Read(&(*answers)[places[*answered]])) break;
  }
  stream->WritesDone();
  const grpc::Status status = stream->Finish();
  if (*answered == places.size()) return grpc::Status::OK;
  if (!status.ok()) return status;
  return {grpc::StatusCode::INTERNAL, "the stream ended before its answers"};
}

// Whether the server is away. One that closes its port ends calls as CANCELLED;
// callers cannot: they never see the context of a call.
bool IsAway(const grpc::Status& status) {
  return status.error_code() == grpc::StatusCode::UNAVAILABLE ||
         status.error_code() == grpc::StatusCode::CANCELLED;
}

// Returns the address of the one server that a call reached, if `address`
// stands for others, too; otherwise nothing. A call that reached none has the
// target of its channel as `peer`.
std::optional<std::string> OneOfSeveral(const std::string& peer,
                                        const std::string& address) {
  const bool is_server = absl::StartsWith(peer, "ipv4:") ||
                         absl::StartsWith(peer, "ipv6:") ||
                         absl::StartsWith(peer, "unix:");
  if (!is_server || absl::StrContains(peer, ',') || peer == address ||
      absl::EndsWith(peer, absl::StrCat(":", address))) {
    return std::nullopt;
  }
  return peer;
}

}  // namespace

struct Client::Stubs {
  Stubs(const std::string& server, const Credentials& credentials)
      : address(server),
        channel(MakeChannel(address, credentials)),
        ranking(v1::Ranking::NewStub(channel)),
        models(v1::Models::NewStub(channel)) {}

  const std::string address;
  const std::shared_ptr<grpc::Channel> channel;
  const std::unique_ptr<v1::Ranking::Stub> ranking;
  const std::unique_ptr<v1::Models::Stub> models;
};

Client::~Client() = default;

absl::Status FromGrpcStatus(const grpc::Status& status) {
  if (status.ok()) return absl::OkStatus();
  // The canonical codes have the same numbers on both sides.
  const int code = static_cast<int>(status.error_code());
  const bool known = code > 0 && code <= 16;
  return absl::Status(
      known ? static_cast<absl::StatusCode>(code) : absl::StatusCode::kUnknown,
      status.error_message());
}

absl::StatusOr<std::unique_ptr<Client>> Client::Connect(
    const std::string& address, const CallOptions& options) {
  if (absl::Status status = Validate(address, options); !status.ok()) {
    return status;
  }
  auto credentials = ReadCredentials(options.security, SplitAddresses(address));
  if (!credentials.ok()) return credentials.status();
  return std::unique_ptr<Client>(
      new Client(address, options, *std::move(credentials)));
}

Client::Client(const std::string& address, const CallOptions& options,
               Credentials credentials)
    : address_(address),
      options_(options),
      credentials_(std::move(credentials)),
      jitter_(HashBytes(MakeUuidV7())) {
  for (const std::string& server : SplitAddresses(address)) {
    servers_.push_back(std::make_unique<Stubs>(server, credentials_));
  }
}

// Rendezvous hashing: the server whose hash with the id is the largest.
const Client::Stubs& Client::ServerOf(absl::string_view decision_id) const {
  const auto weight = [&](const std::unique_ptr<Stubs>& server) {
    return HashBytes(absl::StrCat(server->address, " ", decision_id)).low;
  };
  return **std::max_element(
      servers_.begin(), servers_.end(),
      [&](const auto& a, const auto& b) { return weight(a) < weight(b); });
}

// Without a connection, the pause ends as soon as there is one. Waiting for it
// also drives the attempts to connect: during a sleep only gRPC's backup poll
// would, once in 5 s.
bool Client::Pause(const Stubs& stubs, Clock::duration pause,
                   Clock::time_point deadline) {
  const Clock::duration left = deadline - Clock::now();
  if (stubs.channel->GetState(/*try_to_connect=*/true) == GRPC_CHANNEL_READY) {
    // The server's own words say more than a deadline that passed in a pause.
    if (pause >= left) return false;
    std::this_thread::sleep_for(pause);
    return true;
  }
  stubs.channel->WaitForConnected(std::chrono::system_clock::now() +
                                  std::min(pause, left));
  return Clock::now() < deadline;
}

absl::Status Client::CallWithRetries(
    const Stubs& first,
    const std::function<grpc::Status(const Stubs&, grpc::ClientContext*)>&
        call) {
  const auto seconds = [](double count) {
    return std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double>(count));
  };
  const Clock::time_point deadline =
      Clock::now() + seconds(options_.deadline_seconds);
  double backoff = options_.first_backoff_seconds;
  const Stubs* stubs = &first;
  std::optional<Stubs> reached;  // The one server that may have answered.
  for (uint32_t attempt = 1;; ++attempt) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         (deadline - Clock::now()));
    if (!credentials_.authorization.empty()) {
      context.AddMetadata("authorization", credentials_.authorization);
    }
    const grpc::Status status = call(*stubs, &context);
    if (!IsAway(status) || attempt >= options_.max_attempts) {
      return FromGrpcStatus(status);
    }
    const auto server = OneOfSeveral(context.peer(), first.address);
    if (server.has_value() && !reached.has_value()) {
      stubs = &reached.emplace(*server, credentials_);
    }
    const Clock::duration pause =
        seconds(backoff * jitter_.Uniform(next_jitter_.fetch_add(1)));
    if (!Pause(*stubs, pause, deadline)) return FromGrpcStatus(status);
    backoff = std::min(2 * backoff, options_.max_backoff_seconds);
  }
}

template <typename Response, typename Send>
absl::StatusOr<Response> Client::Call(const Stubs& server, const Send& send) {
  Response response;
  const absl::Status status = CallWithRetries(
      server, [&](const Stubs& stubs, grpc::ClientContext* context) {
        return send(stubs, context, &response);
      });
  if (!status.ok()) return status;
  return response;
}

absl::StatusOr<v1::RankResponse> Client::Rank(v1::RankRequest request) {
  FillDecisionId(request.mutable_context());
  return Call<v1::RankResponse>(
      ServerOf(request.context().decision_id()),
      [&](const auto& stubs, auto* context, auto* response) {
        return stubs.ranking->Rank(context, request, response);
      });
}

absl::StatusOr<v1::SelectResponse> Client::Select(v1::SelectRequest request) {
  FillDecisionId(request.mutable_context());
  return Call<v1::SelectResponse>(
      ServerOf(request.context().decision_id()),
      [&](const auto& stubs, auto* context, auto* response) {
        return stubs.ranking->Select(context, request, response);
      });
}

absl::StatusOr<v1::LabelResponse> Client::Label(v1::LabelRequest request) {
  FillDecisionId(request.mutable_context());
  return Call<v1::LabelResponse>(
      ServerOf(request.context().decision_id()),
      [&](const auto& stubs, auto* context, auto* response) {
        return stubs.ranking->Label(context, request, response);
      });
}

absl::StatusOr<v1::AggregateResponse> Client::Aggregate(
    v1::AggregateRequest request) {
  FillDecisionId(request.mutable_context());
  return Call<v1::AggregateResponse>(
      ServerOf(request.context().decision_id()),
      [&](const auto& stubs, auto* context, auto* response) {
        return stubs.ranking->Aggregate(context, request, response);
      });
}

absl::StatusOr<std::vector<v1::RankStreamResponse>> Client::RankStream(
    std::vector<v1::RankStreamRequest> requests) {
  std::map<const Stubs*, std::vector<size_t>> by_server;
  for (size_t i = 0; i < requests.size(); ++i) {
    v1::DecisionContext* const context = ContextOf(&requests[i]);
    if (context != nullptr) FillDecisionId(context);
    by_server[&ServerOf(context == nullptr ? "" : context->decision_id())]
        .push_back(i);
  }
  std::vector<v1::RankStreamResponse> answers(requests.size());
  for (const auto& [server, places] : by_server) {
    size_t answered = 0;
    const absl::Status status = CallWithRetries(
        *server, [&](const Stubs& stubs, grpc::ClientContext* context) {
          return AskOverStream(stubs.ranking.get(), context, requests, places,
                               &answered, &answers);
        });
    if (!status.ok()) return status;
  }
  return answers;
}

absl::StatusOr<v1::ReportShownResponse> Client::ReportShown(
    const v1::ReportShownRequest& request) {
  return Call<v1::ReportShownResponse>(
      ServerOf(request.decision_id()),
      [&](const auto& stubs, auto* context, auto* response) {
        return stubs.ranking->ReportShown(context, request, response);
      });
}

absl::StatusOr<v1::ReportFeedbackResponse> Client::ReportFeedback(
    v1::ReportFeedbackRequest request) {
  for (v1::Feedback& feedback : *request.mutable_feedback()) {
    if (feedback.feedback_id().empty()) feedback.set_feedback_id(MakeUuidV7());
  }
  std::map<const Stubs*, v1::ReportFeedbackRequest> by_server;
  for (v1::Feedback& feedback : *request.mutable_feedback()) {
    *by_server[&ServerOf(feedback.decision_id())].add_feedback() =
        std::move(feedback);
  }
  // Without feedback, the server says what is wrong.
  if (by_server.empty()) by_server[servers_.front().get()] = request;
  v1::ReportFeedbackResponse all;
  absl::Status status;
  for (const auto& [server, part] : by_server) {
    const auto accepted = Call<v1::ReportFeedbackResponse>(
        *server, [&](const auto& stubs, auto* context, auto* response) {
          return stubs.ranking->ReportFeedback(context, part, response);
        });
    // The feedback of others must not depend on a server that is away.
    status.Update(accepted.status());
    if (accepted.ok()) all.set_accepted(all.accepted() + accepted->accepted());
  }
  if (!status.ok()) return status;
  return all;
}

absl::StatusOr<v1::ListModelsResponse> Client::ListModels() {
  return Call<v1::ListModelsResponse>(
      *servers_.front(), [&](const auto& stubs, auto* context, auto* response) {
        return stubs.models->ListModels(context, v1::ListModelsRequest(),
                                        response);
      });
}

absl::StatusOr<v1::DescribeModelResponse> Client::DescribeModel(
    const v1::DescribeModelRequest& request) {
  return Call<v1::DescribeModelResponse>(
      *servers_.front(), [&](const auto& stubs, auto* context, auto* response) {
        return stubs.models->DescribeModel(context, request, response);
      });
}

absl::StatusOr<v1::ChangeServingResponse> Client::ChangeServing(
    const v1::ChangeServingRequest& request) {
  return Call<v1::ChangeServingResponse>(
      *servers_.front(), [&](const auto& stubs, auto* context, auto* response) {
        return stubs.models->ChangeServing(context, request, response);
      });
}

absl::Status Client::ReloadModels() {
  return Call<v1::ReloadModelsResponse>(
             *servers_.front(),
             [&](const auto& stubs, auto* context, auto* response) {
               return stubs.models->ReloadModels(
                   context, v1::ReloadModelsRequest(), response);
             })
      .status();
}

}  // namespace sortition
