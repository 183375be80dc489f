#include "bench/papers/poem/poem_runs.h"

#include <array>
#include <cstdio>
#include <memory>

#include "bench/support/parallel_runs.h"
#include "core/base/status_macros.h"

namespace sortition {
namespace {

struct Run {
  std::array<HammingLosses, kNumProtocols> logging;
  std::array<bool, kNumProtocols> has_log = {};
  HammingLosses skyline;
  std::vector<Learnt> learnt;
};

void Add(const HammingLosses& losses, Losses* all) {
  all->expected.push_back(losses.expected);
  all->map.push_back(losses.map);
}

absl::Status Execute(const LabelData& data, const Repetition& repetition,
                     std::span<const Method> methods, int number, Run* run) {
  // Ours at best learns from the authors' logs.
  std::array<std::unique_ptr<LabelLog>, 2> logs;
  for (const Method& method : methods) {
    const bool is_text = method.protocol == Protocol::kText;
    std::unique_ptr<LabelLog>& log = logs[is_text ? 0 : 1];
    if (log == nullptr) {
      ASSIGN_OR_RETURN(
          log, LabelLog::Draw(data, LogOptionsOf(method.protocol, repetition),
                              number));
    }
    const auto protocol = static_cast<size_t>(method.protocol);
    run->logging[protocol] = log->logging();
    run->has_log[protocol] = true;
    ASSIGN_OR_RETURN(const Learnt learnt, Learn(method, log.get()));
    run->learnt.push_back(learnt);
  }
  return absl::OkStatus();
}

}  // namespace

LogOptions LogOptionsOf(Protocol protocol, const Repetition& repetition) {
  const bool is_text = protocol == Protocol::kText;
  return {.fraction = repetition.fraction,
          .c = is_text ? 1 : 0.1,
          .inverse_temperature = repetition.inverse_temperature,
          .replays = repetition.replays,
          .skips_unseen_labels = !is_text};
}

absl::StatusOr<Results> RunAll(const LabelData& data,
                               const Repetition& repetition,
                               std::span<const Method> methods,
                               bool with_skyline) {
  std::vector<Run> done(repetition.runs);
  const auto execute = [&](size_t r) -> absl::Status {
    const int number = static_cast<int>(r);
    RETURN_IF_ERROR(Execute(data, repetition, methods, number, &done[r]));
    if (with_skyline) {
      ASSIGN_OR_RETURN(done[r].skyline, Skyline(data, number));
    }
    std::fprintf(stderr, ".");
    return absl::OkStatus();
  };
  RETURN_IF_ERROR(RunInParallel(done.size(), repetition.threads, execute));
  std::fprintf(stderr, "\n");

  Results results{.runs = repetition.runs};
  for (const Method& method : methods) {
    results.methods.push_back({.name = method.name,
                               .published = method.published,
                               .protocol = method.protocol});
  }
  for (const Run& run : done) {
    for (size_t k = 0; k < kNumProtocols; ++k) {
      if (run.has_log[k]) Add(run.logging[k], &results.logging[k]);
    }
    if (with_skyline) Add(run.skyline, &results.skyline);
    for (size_t m = 0; m < methods.size(); ++m) {
      MethodLosses& losses = results.methods[m];
      Add(run.learnt[m].losses, &losses.losses);
      losses.mean_weights.push_back(run.learnt[m].mean_weight);
      losses.lowest.push_back(run.learnt[m].lowest);
      losses.seconds.push_back(run.learnt[m].seconds_per_fit);
    }
  }
  return results;
}

}  // namespace sortition
