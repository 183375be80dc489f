#include "client/rpc/client.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "client/rpc/attempts.h"
#include "client/rpc/channel.h"
#include "client/rpc/uuid.h"
#include "core/base/hash.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/support/status.h"
#include "sortition/v1/models.grpc.pb.h"
#include "sortition/v1/ranking.grpc.pb.h"

namespace sortition {
namespace {

using Clock = std::chrono::steady_clock;

// Attempts of a call at one address, and at each of several.
constexpr uint32_t kAttemptsAtOne = 3;
constexpr uint32_t kAttemptsAtEach = 10;

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
  if (options.max_attempts == 0u) {
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

// Returns in how many seconds an overloaded server asks to be tried again, if
// it does.
std::optional<double> RetryAfterSeconds(const grpc::Status& status,
                                        const grpc::ClientContext& context) {
  if (status.error_code() != grpc::StatusCode::RESOURCE_EXHAUSTED) {
    return std::nullopt;
  }
  const auto& trailers = context.GetServerTrailingMetadata();
  const auto hint = trailers.find("grpc-retry-pushback-ms");
  uint32_t milliseconds = 0;
  if (hint == trailers.end() ||
      !absl::SimpleAtoi(
          absl::string_view(hint->second.data(), hint->second.size()),
          &milliseconds)) {
    return std::nullopt;
  }
  return 1e-3 * milliseconds;
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
      choice_(SplitAddresses(address), options.retry_budget),
      jitter_(HashBytes(MakeUuidV7())) {
  for (const std::string& server : choice_.addresses()) {
    servers_.push_back(std::make_unique<Stubs>(server, credentials_));
  }
}

void Client::FillDecisionId(v1::DecisionContext* context) const {
  if (!context->decision_id().empty()) return;
  context->set_decision_id(choice_.NewDecisionId(Clock::now()));
}

std::vector<size_t> Client::ReportRoute(absl::string_view decision_id) const {
  if (options_.any_server) return choice_.Route(decision_id, Clock::now());
  return {choice_.Of(decision_id)};
}

size_t Client::IndexOf(const Stubs& stubs) const {
  const auto server =
      std::find_if(servers_.begin(), servers_.end(),
                   [&](const auto& each) { return each.get() == &stubs; });
  // A server behind an address that stands for several.
  if (server == servers_.end()) return 0;
  return static_cast<size_t>(server - servers_.begin());
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
    std::vector<size_t> route, bool shares_time,
    const std::function<grpc::Status(const Stubs&, grpc::ClientContext*)>& call,
    size_t* server) {
  const Clock::time_point deadline =
      Clock::now() +
      std::chrono::duration_cast<Clock::duration>(
          std::chrono::duration<double>(options_.deadline_seconds));
  const bool stays = route.size() == 1 && !options_.any_server;
  Attempts attempts(
      {.max_rounds = options_.max_attempts.value_or(
           servers_.size() == 1 ? kAttemptsAtOne : kAttemptsAtEach),
       .deadline = deadline,
       .first_backoff_seconds = options_.first_backoff_seconds,
       .max_backoff_seconds = options_.max_backoff_seconds,
       .shares_time = shares_time},
      std::move(route), &choice_);
  std::optional<Stubs> reached;  // The one server that may have answered.
  for (;;) {
    const Clock::time_point now = Clock::now();
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() +
                         (attempts.Begin(now) - now));
    if (!credentials_.authorization.empty()) {
      context.AddMetadata("authorization", credentials_.authorization);
    }
    const Stubs& named = *servers_[attempts.server()];
    const grpc::Status status = call(reached ? *reached : named, &context);
    if (status.ok()) {
      attempts.Answered();
      *server = attempts.server();
      return absl::OkStatus();
    }
    const std::optional<Clock::duration> pause = attempts.PauseAfter(
        {FromGrpcStatus(status), RetryAfterSeconds(status, context)},
        jitter_.Uniform(next_jitter_.fetch_add(1)), Clock::now());
    if (!pause.has_value()) return attempts.Error();
    if (stays && !reached.has_value()) {
      const auto peer = OneOfSeveral(context.peer(), named.address);
      if (peer.has_value()) reached.emplace(*peer, credentials_);
    }
    const Stubs& next = reached ? *reached : *servers_[attempts.server()];
    if (!Pause(next, *pause, deadline)) return attempts.Error();
  }
}

template <typename Response, typename Send>
absl::StatusOr<Response> Client::Call(std::vector<size_t> route,
                                      const Send& send) {
  Response response;
  size_t server = 0;
  const absl::Status status = CallWithRetries(
      std::move(route), /*shares_time=*/true,
      [&](const Stubs& stubs, grpc::ClientContext* context) {
        return send(stubs, context, &response);
      },
      &server);
  if (!status.ok()) return status;
  return response;
}

template <typename Response, typename Send>
absl::StatusOr<Response> Client::Decide(const std::string& decision_id,
                                        const Send& send) {
  Response response;
  size_t server = 0;
  const absl::Status status = CallWithRetries(
      choice_.Route(decision_id, Clock::now()), /*shares_time=*/true,
      [&](const Stubs& stubs, grpc::ClientContext* context) {
        return send(stubs, context, &response);
      },
      &server);
  if (!status.ok()) return status;
  choice_.Decided(decision_id, server);
  return response;
}

absl::StatusOr<v1::RankResponse> Client::Rank(v1::RankRequest request) {
  FillDecisionId(request.mutable_context());
  return Decide<v1::RankResponse>(
      request.context().decision_id(),
      [&](const auto& stubs, auto* context, auto* response) {
        return stubs.ranking->Rank(context, request, response);
      });
}

absl::StatusOr<v1::SelectResponse> Client::Select(v1::SelectRequest request) {
  FillDecisionId(request.mutable_context());
  return Decide<v1::SelectResponse>(
      request.context().decision_id(),
      [&](const auto& stubs, auto* context, auto* response) {
        return stubs.ranking->Select(context, request, response);
      });
}

absl::StatusOr<v1::LabelResponse> Client::Label(v1::LabelRequest request) {
  FillDecisionId(request.mutable_context());
  return Decide<v1::LabelResponse>(
      request.context().decision_id(),
      [&](const auto& stubs, auto* context, auto* response) {
        return stubs.ranking->Label(context, request, response);
      });
}

absl::StatusOr<v1::AggregateResponse> Client::Aggregate(
    v1::AggregateRequest request) {
  FillDecisionId(request.mutable_context());
  return Decide<v1::AggregateResponse>(
      request.context().decision_id(),
      [&](const auto& stubs, auto* context, auto* response) {
        return stubs.ranking->Aggregate(context, request, response);
      });
}

absl::StatusOr<std::vector<v1::RankStreamResponse>> Client::RankStream(
    std::vector<v1::RankStreamRequest> requests) {
  std::vector<std::string> ids(requests.size());
  std::map<size_t, std::vector<size_t>> by_server;
  for (size_t i = 0; i < requests.size(); ++i) {
    v1::DecisionContext* const context = ContextOf(&requests[i]);
    if (context != nullptr) {
      FillDecisionId(context);
      ids[i] = context->decision_id();
    }
    by_server[choice_.Of(ids[i])].push_back(i);
  }
  std::vector<v1::RankStreamResponse> answers(requests.size());
  for (const auto& [home, places] : by_server) {
    size_t answered = 0;
    size_t server = 0;
    const absl::Status status = CallWithRetries(
        choice_.Route(ids[places.front()], Clock::now()),
        /*shares_time=*/false,
        [&](const Stubs& stubs, grpc::ClientContext* context) {
          const size_t before = answered;
          const grpc::Status ended =
              AskOverStream(stubs.ranking.get(), context, requests, places,
                            &answered, &answers);
          for (size_t i = before; i < answered; ++i) {
            choice_.Decided(ids[places[i]], IndexOf(stubs));
          }
          return ended;
        },
        &server);
    if (!status.ok()) return status;
  }
  return answers;
}

absl::StatusOr<v1::ReportShownResponse> Client::ReportShown(
    const v1::ReportShownRequest& request) {
  return Call<v1::ReportShownResponse>(
      ReportRoute(request.decision_id()),
      [&](const auto& stubs, auto* context, auto* response) {
        return stubs.ranking->ReportShown(context, request, response);
      });
}

absl::StatusOr<v1::ReportFeedbackResponse> Client::ReportFeedback(
    v1::ReportFeedbackRequest request) {
  for (v1::Feedback& feedback : *request.mutable_feedback()) {
    if (feedback.feedback_id().empty()) feedback.set_feedback_id(MakeUuidV7());
  }
  std::map<size_t, v1::ReportFeedbackRequest> by_server;
  for (v1::Feedback& feedback : *request.mutable_feedback()) {
    *by_server[choice_.Of(feedback.decision_id())].add_feedback() =
        std::move(feedback);
  }
  // Without feedback, the server says what is wrong.
  if (by_server.empty()) by_server[0] = request;
  v1::ReportFeedbackResponse all;
  absl::Status status;
  for (const auto& [server, part] : by_server) {
    const auto accepted = Call<v1::ReportFeedbackResponse>(
        part.feedback().empty() ? std::vector<size_t>{server}
                                : ReportRoute(part.feedback(0).decision_id()),
        [&](const auto& stubs, auto* context, auto* response) {
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
  return Call<v1::ListModelsResponse>({0}, [&](const auto& stubs, auto* context,
                                               auto* response) {
    return stubs.models->ListModels(context, v1::ListModelsRequest(), response);
  });
}

absl::StatusOr<v1::DescribeModelResponse> Client::DescribeModel(
    const v1::DescribeModelRequest& request) {
  return Call<v1::DescribeModelResponse>(
      {0}, [&](const auto& stubs, auto* context, auto* response) {
        return stubs.models->DescribeModel(context, request, response);
      });
}

absl::StatusOr<v1::ChangeServingResponse> Client::ChangeServing(
    const v1::ChangeServingRequest& request) {
  return Call<v1::ChangeServingResponse>(
      {0}, [&](const auto& stubs, auto* context, auto* response) {
        return stubs.models->ChangeServing(context, request, response);
      });
}

absl::Status Client::ReloadModels() {
  return Call<v1::ReloadModelsResponse>(
             {0},
             [&](const auto& stubs, auto* context, auto* response) {
               return stubs.models->ReloadModels(
                   context, v1::ReloadModelsRequest(), response);
             })
      .status();
}

}  // namespace sortition
