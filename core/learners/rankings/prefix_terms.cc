#include "core/learners/rankings/prefix_terms.h"

#include <algorithm>

#include "core/base/check.h"
#include "core/base/status_macros.h"

namespace sortition {

absl::StatusOr<PrefixTerms> PrefixTerms::Create(
    const RankedLog& log, PrefixWeights kind,
    std::vector<TermFunction> functions) {
  if (functions.empty()) {
    return absl::InvalidArgumentError(
        "functions: there are 0, must be at least 1");
  }
  ASSIGN_OR_RETURN(OrderPolicy policy, OrderPolicy::Create(log));
  PrefixTerms terms(std::move(policy), std::move(functions));
  terms.begins_.push_back(0);
  for (size_t i = 0; i < log.tuples.size(); ++i) {
    terms.AddLosses(i, kind);
    terms.begins_.push_back(terms.losses_.size());
  }
  return terms;
}

void PrefixTerms::AddLosses(size_t i, PrefixWeights kind) {
  const RankedLog& log = policy_.log();
  double sum = 0;
  double log_logged = 0;
  for (uint32_t k = 0; k < log.ranks[i].num_shown(); ++k) {
    const double loss = log.loss(i, k);
    sum += loss;
    log_logged += log.ranks[i].log_conditionals[k];
    const bool is_last = k + 1 == log.ranks[i].num_shown();
    if (kind == PrefixWeights::kPrefixes && loss != 0) {
      losses_.push_back({k, loss, log_logged});
    } else if (kind == PrefixWeights::kWholeOrder && is_last && sum != 0) {
      losses_.push_back({k, sum, log_logged});
    }
  }
}

void PrefixTerms::Values(const Eigen::VectorXd& parameters,
                         std::span<const uint32_t> tuples,
                         std::span<double> values) {
  DCHECK(tuples.size() == values.size());
  active_.clear();
  places_.clear();
  depths_.clear();
  entries_.clear();
  ranks_.clear();
  deltas_.clear();
  owners_.clear();
  size_t num_prefixes = 0;
  for (size_t k = 0; k < tuples.size(); ++k) {
    const size_t begin = begins_[tuples[k]];
    const size_t end = begins_[tuples[k] + 1];
    if (begin == end) continue;
    for (size_t j = begin; j < end; ++j) {
      entries_.push_back(num_prefixes + losses_[j].rank);
      ranks_.push_back(losses_[j].rank);
      deltas_.push_back(losses_[j].value);
      owners_.push_back(static_cast<uint32_t>(active_.size()));
    }
    active_.push_back(tuples[k]);
    places_.push_back(static_cast<uint32_t>(k));
    depths_.push_back(losses_[end - 1].rank + 1);
    num_prefixes += depths_.back();
  }
  log_prefixes_.resize(num_prefixes);
  policy_.LogPrefixes(parameters, active_, depths_, log_prefixes_);
  terms_.clear();
  for (const uint32_t i : active_) {
    for (size_t j = begins_[i]; j < begins_[i + 1]; ++j) {
      terms_.push_back(log_prefixes_[entries_[terms_.size()]] -
                       losses_[j].log_logged);
    }
  }
  ApplyFunctions();
  std::fill(values.begin(), values.end(), 0);
  for (size_t j = 0; j < terms_.size(); ++j) {
    values[places_[owners_[j]]] += terms_[j];
  }
}

void PrefixTerms::ApplyFunctions() {
  slopes_.resize(terms_.size());
  if (functions_.size() == 1) {
    functions_[0](deltas_, terms_, slopes_);
    return;
  }
  std::vector<size_t> chosen;
  std::vector<double> losses, values, slopes;
  for (size_t f = 0; f < functions_.size(); ++f) {
    chosen.clear();
    losses.clear();
    values.clear();
    for (size_t j = 0; j < terms_.size(); ++j) {
      if (std::min<size_t>(ranks_[j], functions_.size() - 1) != f) continue;
      chosen.push_back(j);
      losses.push_back(deltas_[j]);
      values.push_back(terms_[j]);
    }
    slopes.resize(chosen.size());
    functions_[f](losses, values, slopes);
    for (size_t c = 0; c < chosen.size(); ++c) {
      terms_[chosen[c]] = values[c];
      slopes_[chosen[c]] = slopes[c];
    }
  }
}

void PrefixTerms::AddGradient(std::span<const double> factors,
                              Eigen::VectorXd* gradient) {
  // The log-probabilities are not needed any more; their memory holds factors.
  std::fill(log_prefixes_.begin(), log_prefixes_.end(), 0);
  for (size_t j = 0; j < slopes_.size(); ++j) {
    log_prefixes_[entries_[j]] = factors[places_[owners_[j]]] * slopes_[j];
  }
  policy_.AddGradient(log_prefixes_, gradient);
}

}  // namespace sortition
