#include "client/simulation/front_end.h"

#include <algorithm>
#include <array>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/rpc/connect.h"
#include "core/base/hash.h"
#include "core/base/status_macros.h"
#include "io/datasets/query_candidates.h"

namespace sortition {
namespace {

using Clock = std::chrono::steady_clock;

// Most feedback items of one call, and how long the first of them may wait: the
// windows of feedback may be short and servers slow.
constexpr int kFeedbackBatch = 64;
constexpr double kFeedbackSeconds = 0.1;

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

UserModelOptions UserOptions(const config::v1::SimulateOptions& options) {
  UserModelOptions user;
  user.seed = options.seed();
  user.relevant_from = options.relevant_from();
  user.abstain_reward = options.abstain_reward();
  user.noise = options.noise();
  return user;
}

RankReaderOptions ReaderOptions(const config::v1::SimulateOptions& options,
                                const LabelledQueries& queries) {
  RankReaderOptions reader;
  reader.seed = options.seed();
  reader.position_bias = options.position_bias();
  if (options.has_noise()) reader.noise = options.noise();
  for (const LabelledQuery& query : queries.queries) {
    for (const uint32_t relevance : query.relevances) {
      reader.max_relevance = std::max(reader.max_relevance, relevance);
    }
  }
  return reader;
}

}  // namespace

std::optional<uint64_t> SharedLoop::Next() {
  if (Clock::now() >= plan_.deadline) return std::nullopt;
  if (version_seen_ && next_ >= plan_.decisions) return std::nullopt;
  const uint64_t index = next_.fetch_add(1);
  // Another connection took the last one, or there is no time for it.
  if ((version_seen_ && index >= plan_.decisions) ||
      TimeOf(index) >= plan_.deadline) {
    next_.fetch_sub(1);
    return std::nullopt;
  }
  return index;
}

SharedLoop::Clock::time_point SharedLoop::TimeOf(uint64_t index) const {
  if (plan_.rate == 0) return plan_.start;
  return plan_.start + std::chrono::duration_cast<Clock::duration>(
                           std::chrono::duration<double>(
                               static_cast<double>(index) / plan_.rate));
}

std::string SharedLoop::DecisionId(uint64_t index) const {
  return absl::StrCat(plan_.id_prefix, index);
}

void SharedLoop::Answered(uint64_t version) {
  if (plan_.until_version == version) version_seen_ = true;
}

absl::StatusOr<std::unique_ptr<FrontEnd>> FrontEnd::Create(
    const config::v1::SimulateOptions& options, const LabelledQueries& queries,
    SharedLoop* loop) {
  ASSIGN_OR_RETURN(
      RankReader reader,
      RankReader::Create(options.user(), ReaderOptions(options, queries)));
  ASSIGN_OR_RETURN(std::unique_ptr<Client> client,
                   ConnectClient(options.client()));
  return std::unique_ptr<FrontEnd>(new FrontEnd(
      options, queries, loop, std::move(reader), std::move(client)));
}

FrontEnd::FrontEnd(const config::v1::SimulateOptions& options,
                   const LabelledQueries& queries, SharedLoop* loop,
                   RankReader reader, std::unique_ptr<Client> client)
    : options_(options),
      queries_(queries),
      loop_(*loop),
      client_(std::move(client)),
      user_(UserOptions(options)),
      reader_(std::move(reader)),
      seed_text_(absl::StrCat(options.seed())) {}

void FrontEnd::Run() {
  while (const std::optional<uint64_t> index = loop_.Next()) {
    WaitFor(*index);
    Decide(*index);
    if (pending_.feedback_size() >= kFeedbackBatch ||
        SecondsSince(pending_since_) > kFeedbackSeconds) {
      SendFeedback();
    }
  }
  SendFeedback();
}

void FrontEnd::WaitFor(uint64_t index) {
  const Clock::time_point time = loop_.TimeOf(index);
  const Clock::duration pause = time - Clock::now();
  if (pause <= Clock::duration::zero()) return;
  // Feedback must not wait for a slow rate.
  if (pause > std::chrono::duration<double>(kFeedbackSeconds)) SendFeedback();
  std::this_thread::sleep_until(time);
}

void FrontEnd::Decide(uint64_t index) {
  const Hash128 hash = StableHash(HashDomain::kSimulation,
                                  {"query", seed_text_, absl::StrCat(index)});
  const auto place = static_cast<size_t>(
      UnitInterval(hash) * static_cast<double>(queries_.queries.size()));
  const LabelledQuery& query =
      queries_.queries[std::min(place, queries_.queries.size() - 1)];
  v1::DecisionContext context;
  context.set_decision_id(loop_.DecisionId(index));
  context.set_model(options_.model());
  if (options_.units() > 0) SetUser(index, &context);
  SetQueryCandidates(query, queries_.num_features,
                     context.mutable_candidates());
  if (options_.action() == "select") {
    Select(query, std::move(context));
  } else if (options_.action() == "label") {
    Label(query, std::move(context));
  } else {
    Rank(query, std::move(context));
  }
}

void FrontEnd::SetUser(uint64_t index, v1::DecisionContext* context) const {
  const auto place = static_cast<uint64_t>(
      UnitInterval(StableHash(HashDomain::kSimulation,
                              {"unit", seed_text_, absl::StrCat(index)})) *
      static_cast<double>(options_.units()));
  const std::string unit =
      absl::StrCat("user-", std::min(place, options_.units() - 1));
  const Hash128 hash = StableHash(HashDomain::kSimulation, {"user", unit});
  constexpr std::array<const char*, 5> kDevices = {"phone", "phone", "phone",
                                                   "desktop", "tablet"};
  constexpr std::array<const char*, 4> kCountries = {"CH", "DE", "FR", "IT"};
  auto& attributes = *context->mutable_attributes();
  attributes["device"] = kDevices[hash.low % kDevices.size()];
  attributes["country"] = kCountries[hash.high % kCountries.size()];
  context->set_unit_id(unit);
}

void FrontEnd::Select(const LabelledQuery& query, v1::DecisionContext context) {
  v1::SelectRequest request;
  *request.mutable_context() = std::move(context);
  const Clock::time_point start = Clock::now();
  const absl::StatusOr<v1::SelectResponse> response =
      client_->Select(std::move(request));
  if (!response.ok()) return CountFailure(response.status(), &result_.failed);
  result_.latency.Add(SecondsSince(start));
  const int32_t selected = response->has_selected()
                               ? static_cast<int32_t>(response->selected())
                               : kAbstain;
  if (selected >= static_cast<int32_t>(query.relevances.size())) {
    return CountFailure(absl::InternalError("selected is out of range"),
                        &result_.failed);
  }
  const v1::DecisionResult& decision = response->result();
  Outcome outcome;
  if (selected != kAbstain) outcome.shown.push_back(response->selected());
  outcome.rewards.emplace_back(
      std::nullopt,
      user_.SelectReward(query.relevances, selected, decision.decision_id()));
  outcome.expected_reward =
      user_.ExpectedSelectReward(query.relevances, selected);
  Conclude(decision, outcome);
}

void FrontEnd::Rank(const LabelledQuery& query, v1::DecisionContext context) {
  const auto n = static_cast<uint32_t>(query.relevances.size());
  v1::RankRequest request;
  *request.mutable_context() = std::move(context);
  request.set_top_k(std::min(options_.top_k(), n));
  const Clock::time_point start = Clock::now();
  const absl::StatusOr<v1::RankResponse> response =
      client_->Rank(std::move(request));
  if (!response.ok()) return CountFailure(response.status(), &result_.failed);
  result_.latency.Add(SecondsSince(start));
  const std::vector<int32_t> order(response->order().begin(),
                                   response->order().end());
  if (order.empty() || std::any_of(order.begin(), order.end(), [n](int32_t i) {
        return static_cast<uint32_t>(i) >= n;
      })) {
    return CountFailure(absl::InternalError("order is empty or out of range"),
                        &result_.failed);
  }
  std::vector<uint32_t> relevances;  // By rank.
  for (const int32_t i : order) relevances.push_back(query.relevances[i]);
  const v1::DecisionResult& decision = response->result();
  const ReadRanking read = reader_.Read(relevances, decision.decision_id());
  Outcome outcome;
  outcome.shown.assign(response->order().begin(), response->order().end());
  outcome.rewards.assign(read.clicks.begin(), read.clicks.end());
  outcome.seen_ranks = read.seen_ranks;
  outcome.expected_reward = reader_.ExpectedReward(relevances);
  result_.ranks.Add(order.size(), read.clicks);
  Conclude(decision, outcome);
}

void FrontEnd::Label(const LabelledQuery& query, v1::DecisionContext context) {
  const auto n = static_cast<uint32_t>(query.relevances.size());
  v1::LabelRequest request;
  *request.mutable_context() = std::move(context);
  if (options_.has_k()) request.set_k(std::min(options_.k(), n));
  const Clock::time_point start = Clock::now();
  const absl::StatusOr<v1::LabelResponse> response =
      client_->Label(std::move(request));
  if (!response.ok()) return CountFailure(response.status(), &result_.failed);
  result_.latency.Add(SecondsSince(start));
  const std::vector<int32_t> subset(response->chosen().begin(),
                                    response->chosen().end());
  for (size_t i = 0; i < subset.size(); ++i) {
    if (subset[i] < 0 || static_cast<uint32_t>(subset[i]) >= n ||
        (i > 0 && subset[i] <= subset[i - 1])) {
      return CountFailure(
          absl::InternalError("chosen is not ascending or out of range"),
          &result_.failed);
    }
  }
  const auto measure = options_.has_k() ? UserModel::Measure::kPrecision
                                        : UserModel::Measure::kF1;
  const v1::DecisionResult& decision = response->result();
  Outcome outcome;
  outcome.shown.assign(response->chosen().begin(), response->chosen().end());
  outcome.rewards.emplace_back(
      std::nullopt, user_.SubsetReward(query.relevances, subset, measure,
                                       decision.decision_id()));
  outcome.expected_reward =
      user_.ExpectedSubsetReward(query.relevances, subset, measure);
  Conclude(decision, outcome);
}

double FrontEnd::Outcome::reward() const {
  double sum = 0;
  for (const auto& [rank, reward] : rewards) sum += reward;
  return sum;
}

void FrontEnd::Conclude(const v1::DecisionResult& decision,
                        const Outcome& outcome) {
  const uint64_t version = decision.model().version();
  const bool abstain = outcome.shown.empty();
  result_.rewards.Add(outcome.reward(), outcome.expected_reward, abstain);
  result_.models[{decision.model().name(), version}].Add(
      outcome.reward(), outcome.expected_reward, abstain);
  if (!decision.degraded().empty()) ++result_.degraded;
  loop_.Answered(version);
  if (!options_.report_feedback()) return;
  ReportShown(decision, outcome);
  if (pending_.feedback_size() == 0) pending_since_ = Clock::now();
  const std::string id = absl::StrCat("fb-", decision.decision_id());
  const auto add = [&](const std::string& feedback_id, double reward) {
    v1::Feedback* const feedback = pending_.add_feedback();
    feedback->set_feedback_id(feedback_id);
    feedback->set_decision_id(decision.decision_id());
    feedback->set_reward(reward);
    return feedback;
  };
  for (const auto& [rank, reward] : outcome.rewards) {
    if (rank.has_value()) {
      add(absl::StrCat(id, "-", *rank), reward)->set_rank(*rank);
    } else {
      add(id, reward);
    }
  }
  // Nothing was clicked, which is known.
  if (outcome.rewards.empty()) add(id, 0);
}

void FrontEnd::ReportShown(const v1::DecisionResult& decision,
                           const Outcome& outcome) {
  v1::ReportShownRequest report;
  report.set_decision_id(decision.decision_id());
  report.mutable_shown()->Add(outcome.shown.begin(), outcome.shown.end());
  if (outcome.seen_ranks.has_value()) {
    report.set_seen_ranks(*outcome.seen_ranks);
  } else {
    report.set_not_shown(outcome.shown.empty());
  }
  const absl::Status status = client_->ReportShown(report).status();
  if (status.ok()) {
    ++result_.shown_reported;
  } else {
    CountFailure(status, &result_.failed_reports);
  }
}

void FrontEnd::SendFeedback() {
  if (pending_.feedback_size() == 0) return;
  const auto response = client_->ReportFeedback(pending_);
  if (response.ok()) {
    result_.feedback_reported +=
        static_cast<uint64_t>(pending_.feedback_size());
  } else {
    CountFailure(response.status(), &result_.failed_reports);
  }
  pending_.clear_feedback();
}

void FrontEnd::CountFailure(const absl::Status& status, uint64_t* counter) {
  ++*counter;
  loop_.Failed();
  ++result_.failures[absl::StatusCodeToString(status.code())];
  if (result_.first_failure.empty()) {
    result_.first_failure = status.ToString();
  }
}

}  // namespace sortition
