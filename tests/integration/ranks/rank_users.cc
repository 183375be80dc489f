#include "tests/integration/ranks/rank_users.h"

#include <algorithm>
#include <filesystem>
#include <span>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "core/base/check.h"
#include "core/base/hash.h"
#include "core/base/random.h"
#include "core/simulation/world.h"
#include "tests/integration/deployment.h"
#include "tests/testing/status_matchers.h"

namespace sortition {
namespace {

constexpr uint32_t kPageRanks = 2;

LabelledQueries MakeUserWorld() {
  config::v1::WorldOptions options;
  options.set_queries(200);
  options.set_features(kUserFeatures);
  options.set_min_candidates(6);
  options.set_max_candidates(6);
  options.set_unanswerable(0);
  auto world = MakeWorld(options);
  CHECK(world.ok());
  return *std::move(world);
}

// Fills in what the user does: looks at the first rank, clicks by relevance and
// goes on, less often after a click. Whether somebody goes on depends on what
// stands above and on chance alone.
void Read(std::span<const uint32_t> relevances, RankSession* session) {
  constexpr double kAttractions[] = {0.05, 0.7, 0.95};
  RandomSequence random(
      StableHash(HashDomain::kSimulation, {"reader", session->decision_id}));
  bool goes_on = true;
  for (uint32_t rank = 0; goes_on && rank < session->order.size(); ++rank) {
    const uint32_t relevance = relevances[session->order[rank]];
    const bool is_click = random.Uniform() < kAttractions[relevance];
    if (is_click) session->clicks.push_back(rank);
    session->seen_ranks = rank + 1;
    goes_on = random.Uniform() < (is_click ? 0.5 : 0.8);
  }
  session->has_purchase = !session->clicks.empty() && random.Uniform() < 0.3;
  session->has_zero = session->clicks.empty() && random.Uniform() < 0.5;
}

std::string ClickId(const std::string& decision_id, uint32_t rank) {
  return absl::StrCat(decision_id, "-click-", rank);
}
std::string PurchaseId(const std::string& decision_id) {
  return decision_id + "-purchase";
}
std::string ZeroId(const std::string& decision_id) {
  return decision_id + "-zero";
}

struct SessionParts {
  uint64_t version = 0;
  std::vector<uint32_t> order;
  double log_propensity = 0;
  std::vector<uint32_t> shown;
  uint32_t seen_ranks = 0;
  std::vector<std::string> rank_rewards;
  std::vector<std::string> feedback_ids;
  double reward = 0;
  std::string faults;
};

std::string TextOf(SessionParts parts) {
  std::sort(parts.feedback_ids.begin(), parts.feedback_ids.end());
  return absl::StrFormat(
      "version %d order %s p %a shown %s seen %d ranks %s reward %a of %s%s",
      parts.version, absl::StrJoin(parts.order, ","), parts.log_propensity,
      absl::StrJoin(parts.shown, ","), parts.seen_ranks,
      absl::StrJoin(parts.rank_rewards, ","), parts.reward,
      absl::StrJoin(parts.feedback_ids, ","), parts.faults);
}

std::string RankRewardText(uint32_t rank, double reward, uint32_t count) {
  return absl::StrFormat("%d: %a in %d", rank, reward, count);
}

std::string TextOfTuple(const log::v1::BanditTuple& tuple) {
  const log::v1::Decision& decision = tuple.decision();
  SessionParts parts;
  parts.version = decision.version();
  parts.order.assign(decision.action().begin(), decision.action().end());
  parts.log_propensity = decision.log_propensity();
  parts.shown.assign(tuple.shown().shown().begin(),
                     tuple.shown().shown().end());
  parts.seen_ranks = tuple.shown().seen_ranks();
  for (const log::v1::RankReward& rank : tuple.rank_rewards()) {
    parts.rank_rewards.push_back(
        RankRewardText(rank.rank(), rank.reward(), rank.count()));
  }
  for (const log::v1::Feedback& feedback : tuple.feedback()) {
    parts.feedback_ids.push_back(feedback.feedback_id());
  }
  parts.reward = tuple.reward();
  if (tuple.shown().first_rank() > 0) parts.faults += ", not from the top";
  if (tuple.shown().not_shown()) parts.faults += ", not shown";
  if (tuple.censored_size() > 0) parts.faults += ", censored";
  return TextOf(std::move(parts));
}

}  // namespace

SessionTexts TextsOf(const std::vector<RankSession>& sessions) {
  SessionTexts texts;
  for (const RankSession& session : sessions) {
    SessionParts parts;
    parts.version = session.version;
    parts.order = session.order;
    parts.log_propensity = session.log_propensity;
    if (session.is_shown_listed) parts.shown = session.order;
    parts.seen_ranks = session.seen_ranks;
    for (const uint32_t rank : session.clicks) {
      parts.rank_rewards.push_back(RankRewardText(rank, kClickReward, 1));
      parts.feedback_ids.push_back(ClickId(session.decision_id, rank));
    }
    parts.reward = session.click_reward();
    if (session.has_purchase) {
      parts.feedback_ids.push_back(PurchaseId(session.decision_id));
      parts.reward += kPurchaseReward;
    }
    if (session.has_zero) {
      parts.feedback_ids.push_back(ZeroId(session.decision_id));
    }
    texts[session.decision_id] = TextOf(std::move(parts));
  }
  return texts;
}

SessionTexts TextsOfTuples(const std::string& dir) {
  SessionTexts texts;
  const auto add = [&](std::string key, const std::string& text) {
    while (texts.contains(key)) key += " again";
    texts[key] = text;
  };
  const auto take = [&](const log::v1::LogRecord& record) {
    if (record.has_tuple()) {
      add(record.tuple().decision().decision_id(), TextOfTuple(record.tuple()));
    }
    if (record.has_late()) {
      add("late " + record.late().feedback().feedback_id(),
          log::v1::LateFeedback::Reason_Name(record.late().reason()));
    }
    if (record.has_incomplete()) {
      add("incomplete", record.incomplete().reason());
    }
  };
  EXPECT_OK(VisitRecords(dir, /*closed=*/true, take));
  if (std::filesystem::exists(dir + "/late")) {
    EXPECT_OK(VisitRecords(dir + "/late", /*closed=*/true, take));
  }
  return texts;
}

RankUsers::RankUsers(const std::vector<std::string>& addresses, int num_threads)
    : num_threads_(num_threads), world_(MakeUserWorld()) {
  for (const std::string& address : addresses) {
    auto client =
        Client::Connect(address, {.deadline_seconds = kPatienceSeconds});
    CHECK(client.ok());
    servers_.push_back(*std::move(client));
  }
}

void RankUsers::Start(uint64_t answers, std::optional<uint64_t> version) {
  version_ = version;
  first_answer_ = num_answers_;
  target_ = first_answer_ + answers;
  for (int i = 0; i < num_threads_; ++i) {
    threads_.emplace_back([this] { Run(); });
  }
}

bool RankUsers::WaitForHalf() {
  const uint64_t half = first_answer_ + (target_ - first_answer_) / 2;
  return PollUntil(kPatienceSeconds, [&] { return num_answers_ >= half; });
}

bool RankUsers::Finish() {
  const bool has_all =
      PollUntil(kPatienceSeconds, [this] { return num_answers_ >= target_; });
  Stop();
  return has_all;
}

void RankUsers::Stop() {
  target_ = 0;
  for (std::thread& thread : threads_) thread.join();
  threads_.clear();
}

std::vector<RankSession> RankUsers::SessionsOf(uint64_t version) const {
  std::vector<RankSession> chosen;
  std::copy_if(
      sessions_.begin(), sessions_.end(), std::back_inserter(chosen),
      [&](const RankSession& session) { return session.version == version; });
  return chosen;
}

void RankUsers::Run() {
  while (num_answers_ < target_) Ask(next_index_++);
}

void RankUsers::Ask(uint64_t index) {
  RankSession session;
  session.decision_id = absl::StrCat("user-", index);
  session.server = index / 4 % servers_.size();
  session.is_shown_listed = index % 4 != 2;
  const Hash128 hash =
      StableHash(HashDomain::kSimulation, {"query", session.decision_id});
  const LabelledQuery& query = world_.queries[hash.low % world_.queries.size()];
  v1::RankRequest request;
  v1::DecisionContext& context = *request.mutable_context();
  context.set_decision_id(session.decision_id);
  context.mutable_candidates()->set_num_features(kUserFeatures);
  context.mutable_candidates()->mutable_dense()->mutable_values()->Add(
      query.features.begin(), query.features.end());
  request.set_top_k(kUserRanks);
  const auto response = servers_[session.server]->Rank(std::move(request));
  if (!response.ok()) return Note(response.status());
  session.version = response->result().model().version();
  session.order.assign(response->order().begin(), response->order().end());
  session.log_propensity = response->result().log_propensity();
  Read(query.relevances, &session);
  Report(session, index);
  if (!version_.has_value() || session.version == *version_) ++num_answers_;
  const std::lock_guard lock(mutex_);
  sessions_.push_back(std::move(session));
}

void RankUsers::Report(const RankSession& session, uint64_t index) {
  if (index % 4 == 3) {
    ReportFeedback(session, index);
    ReportShown(session, index);
  } else {
    ReportShown(session, index);
    ReportFeedback(session, index);
  }
}

void RankUsers::ReportShown(const RankSession& session, uint64_t index) {
  const auto report = [&](uint32_t first, uint32_t end, uint32_t seen) {
    v1::ReportShownRequest request;
    request.set_decision_id(session.decision_id);
    request.set_first_rank(first);
    for (uint32_t rank = first; rank < end; ++rank) {
      request.add_shown(session.order[rank]);
    }
    request.set_seen_ranks(seen);
    Note(Receiver(index).ReportShown(request).status());
  };
  const uint32_t seen = session.seen_ranks;
  const uint32_t seen_at_first = std::min(seen, kPageRanks);
  switch (index % 4) {
    case 0:
      report(0, kPageRanks, seen_at_first);
      report(kPageRanks, kUserRanks, seen);
      break;
    case 1:
      report(kPageRanks, kUserRanks, seen);
      report(0, kPageRanks, seen_at_first);
      break;
    case 2:
      report(0, 0, 1);
      report(0, 0, seen);
      break;
    default:
      report(0, kUserRanks, seen);
  }
}

void RankUsers::ReportFeedback(const RankSession& session, uint64_t index) {
  v1::ReportFeedbackRequest request;
  const auto add = [&](const std::string& feedback_id, double reward) {
    v1::Feedback* const feedback = request.add_feedback();
    feedback->set_feedback_id(feedback_id);
    feedback->set_decision_id(session.decision_id);
    feedback->set_reward(reward);
    return feedback;
  };
  for (const uint32_t rank : session.clicks) {
    add(ClickId(session.decision_id, rank), kClickReward)->set_rank(rank);
  }
  if (session.has_purchase) {
    add(PurchaseId(session.decision_id), kPurchaseReward);
  }
  if (session.has_zero) add(ZeroId(session.decision_id), 0);
  if (request.feedback().empty()) return;
  Note(Receiver(index).ReportFeedback(request).status());
}

Client& RankUsers::Receiver(uint64_t index) const {
  return *servers_[index / (4 * servers_.size()) % servers_.size()];
}

void RankUsers::Note(const absl::Status& status) {
  if (status.ok()) return;
  const std::lock_guard lock(mutex_);
  failures_.push_back(status.ToString());
}

}  // namespace sortition
