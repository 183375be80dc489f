#include "server/shadows/shadow_scorer.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <limits>
#include <utility>

#include "io/clocks.h"
#include "server/shadows/shadow_choice.h"

namespace sortition {
namespace {

constexpr uint64_t kNoLimit = std::numeric_limits<uint64_t>::max();

// Lets the thread that calls run where no other thread wants to.
void LowerPriority() {
  // Either may be forbidden; then the shadows take an equal share.
  const sched_param none = {};
  pthread_setschedparam(pthread_self(), SCHED_BATCH, &none);
  constexpr int kNice = 10;
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kNice);
}

std::vector<const ServingSet::Shadow*> Lookers(const ServingSet& set,
                                               absl::string_view decision_id) {
  std::vector<const ServingSet::Shadow*> lookers;
  for (const ServingSet::Shadow& shadow : set.shadows) {
    if (LooksOn(shadow, decision_id)) lookers.push_back(&shadow);
  }
  return lookers;
}

// Returns what a job takes until its views are written.
uint64_t BytesOf(const ServedDecision& decision, size_t num_shadows) {
  constexpr uint64_t kViewBytes = 512;
  const uint64_t action_bytes = decision.action.size_bytes();
  return sizeof(ShadowJob) + QueryCopy::BytesOf(decision.query) + action_bytes +
         num_shadows * (kViewBytes + action_bytes);
}

// Returns the top_k that is logged with the decision.
uint32_t LoggedTopK(const ServedDecision& decision) {
  switch (decision.action_kind) {
    case ActionKind::kSelect:
      return 0;
    case ActionKind::kRank:
      return static_cast<uint32_t>(decision.action.size());
    case ActionKind::kSubset:
      break;
  }
  return decision.query.top_k;
}

}  // namespace

ShadowScorer::ShadowScorer(uint64_t queue_bytes, SpoolWriter* spool,
                           Metrics* metrics, BaselineAgreement* agreement)
    : spool_(spool),
      agreement_(agreement),
      metrics_(metrics),
      waiting_(queue_bytes),
      scored_(kNoLimit),
      stop_at_us_(std::numeric_limits<int64_t>::max()),
      scorer_([this] { Score(); }),
      writer_([this] { Write(); }) {}

ShadowScorer::~ShadowScorer() { Stop(0); }

void ShadowScorer::Offer(const ServedDecision& decision) {
  if (decision.set->shadows.empty()) return;
  std::vector<const ServingSet::Shadow*> shadows =
      Lookers(*decision.set, decision.decision_id);
  if (shadows.empty()) return;
  const size_t num_shadows = shadows.size();
  const uint64_t bytes = BytesOf(decision, num_shadows);
  if (!waiting_.Reserve(bytes)) {
    metrics_.CountDropped(num_shadows);
    return;
  }
  auto job = std::make_unique<ShadowJob>(decision.query);
  job->set = decision.set;
  job->shadows = std::move(shadows);
  job->decision_id = decision.decision_id;
  job->action.assign(decision.action.begin(), decision.action.end());
  job->action_kind = decision.action_kind;
  job->top_k = LoggedTopK(decision);
  job->mode = decision.set->serving.mode();
  job->bytes = bytes;
  if (waiting_.Push(&job)) return;
  waiting_.Release(bytes);
  metrics_.CountDropped(num_shadows);
}

void ShadowScorer::Stop(double seconds) {
  const std::lock_guard lock(stop_mutex_);
  stop_at_us_ = SteadyUs() + Micros(seconds);
  waiting_.Close();
  if (!scorer_.joinable()) return;
  scorer_.join();
  scored_.Close();
  writer_.join();
}

void ShadowScorer::Score() {
  LowerPriority();
  while (true) {
    std::deque<std::unique_ptr<ShadowJob>> jobs = waiting_.TakeAll();
    if (jobs.empty()) return;
    for (std::unique_ptr<ShadowJob>& job : jobs) {
      if (SteadyUs() < stop_at_us_) {
        ScoreJob(job.get());
      } else {
        metrics_.CountDropped(job->shadows.size());
      }
      scored_.Push(&job);
    }
  }
}

void ShadowScorer::ScoreJob(ShadowJob* job) {
  PolicyQuery query = job->query.View();
  query.top_k = job->top_k;
  for (const ServingSet::Shadow* shadow : job->shadows) {
    const ServedModel& model = *shadow->model;
    const LinearPolicy* const policy = JudgeOf(model, job->action_kind, query);
    if (policy == nullptr || !model.CheckReads(query).ok()) {
      metrics_.CountDropped(1);
      continue;
    }
    const double log_propensity =
        policy->LogPropensity(query, job->action, &workspace_);
    if (!workspace_.refusal.ok()) {
      metrics_.CountDropped(1);
      continue;
    }
    log::v1::ShadowView& view =
        *job->views.emplace_back().mutable_shadow_view();
    view.set_decision_id(job->decision_id);
    view.set_model(model.name);
    view.set_version(model.version);
    view.set_log_propensity(log_propensity);
    const Action mode = policy->DecidedMode(query, &workspace_);
    view.mutable_mode()->Assign(mode.begin(), mode.end());
  }
  // One huge query must not hold its memory for ever.
  constexpr uint32_t kKeptCandidates = 10'000;
  constexpr uint64_t kKeptBytes = 1 << 20;
  if (query.num_candidates() > kKeptCandidates || job->bytes > kKeptBytes) {
    workspace_ = PolicyWorkspace();
  }
}

void ShadowScorer::Write() {
  while (true) {
    std::deque<std::unique_ptr<ShadowJob>> jobs = scored_.TakeAll();
    if (jobs.empty()) return;
    for (std::unique_ptr<ShadowJob>& job : jobs) {
      WriteJob(job.get());
      const uint64_t bytes = job->bytes;
      job.reset();
      waiting_.Release(bytes);
    }
  }
}

void ShadowScorer::WriteJob(ShadowJob* job) {
  if (job->views.empty()) return;
  const int64_t now_us = NowUs();
  for (log::v1::LogRecord& record : job->views) {
    record.mutable_shadow_view()->set_time_us(now_us);
  }
  if (spool_ != nullptr && !spool_->TryAppend(job->views)) {
    metrics_.CountDropped(job->views.size());
    return;
  }
  for (const log::v1::LogRecord& record : job->views) {
    Count(*job, record.shadow_view());
  }
}

void ShadowScorer::Count(const ShadowJob& job,
                         const log::v1::ShadowView& view) {
  const bool agrees = std::equal(job.action.begin(), job.action.end(),
                                 view.mode().begin(), view.mode().end());
  metrics_.CountView(view, agrees);
  // In this mode what was served is the baseline's, and it is here that the
  // model says what it thinks of it.
  const bool is_of_primary = view.version() == job.set->primary->version;
  if (job.mode != model::v1::SHADOW || !is_of_primary) return;
  agreement_->CountAsked({view.model(), view.version(), job.mode},
                         view.log_propensity(), agrees, NowUs());
}

}  // namespace sortition
