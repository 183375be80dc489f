#include "core/games/ranking/ndcg_double_oracle.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace sortition {
namespace {

// An answer is added if it gains more than this, which is above the rounding
// error of the simplex method.
constexpr double kGain = 1e-12;
// Prevents degeneracy; far below any tolerance of the game.
constexpr double kPerturbation = 1e-13;
// Maximum number of columns added in a round. They have different sizes.
constexpr size_t kMaxAnswers = 8;

}  // namespace

void NdcgDoubleOracle::Start(std::span<const double> psi,
                             const Discounts& discounts,
                             std::optional<double> empty_score) {
  psi_ = psi;
  discounts_ = &discounts;
  empty_score_ = empty_score;
  normalisers_.assign(1, 0);
  double lowest = std::min(0.0, empty_score.value_or(0));
  for (size_t t = 0; t < psi.size(); ++t) {
    normalisers_.push_back(normalisers_.back() + discounts[t]);
    lowest -= std::max(psi[t], 0.0);
  }
  simplex_.Clear(lowest, kPerturbation);
  rows_.clear();
  columns_.clear();
  lower_ = -HUGE_VAL;
  upper_ = HUGE_VAL;
}

double NdcgDoubleOracle::Payoff(std::span<const double> d,
                                const Column& column) const {
  double score = 0;
  for (size_t i = 0; i < d.size(); ++i) score += d[i] * column.q[i];
  return column.constant +
         (column.num_positives == 0 ? 0 : score / column.normaliser);
}

void NdcgDoubleOracle::AddPredictor(std::vector<double> expected_discounts) {
  rows_.push_back(std::move(expected_discounts));
  payoffs_.clear();
  for (const Column& column : columns_) {
    payoffs_.push_back(Payoff(rows_.back(), column));
  }
  simplex_.AddRow(payoffs_);
}

void NdcgDoubleOracle::AddAdversary(size_t num_positives,
                                    std::vector<double> q) {
  double constant = num_positives == 0 ? empty_score_.value_or(HUGE_VAL) : 0;
  for (size_t i = 0; i < q.size(); ++i) {
    if (q[i] != 0) constant -= psi_[i] * q[i];
  }
  columns_.push_back(
      {num_positives, std::move(q), normalisers_[num_positives], constant});
  payoffs_.clear();
  for (const std::vector<double>& row : rows_) {
    payoffs_.push_back(Payoff(row, columns_.back()));
  }
  simplex_.AddColumn(payoffs_);
}

// Returns the `size` items with the smallest d_i / Z_size - ψ_i, where ties go
// to the lower item. Writes the sum of these into `value`.
std::vector<double> NdcgDoubleOracle::CheapestSet(std::span<const double> d,
                                                  size_t size, double* value) {
  std::vector<double> q(d.size(), 0);
  if (size == 0) {
    *value = empty_score_.value_or(HUGE_VAL);
    return q;
  }
  costs_.clear();
  for (size_t i = 0; i < d.size(); ++i) {
    costs_.emplace_back(d[i] / normalisers_[size] - psi_[i], i);
  }
  const auto end = costs_.begin() + static_cast<std::ptrdiff_t>(size);
  std::nth_element(costs_.begin(), end - 1, costs_.end());
  *value = 0;
  for (auto cost = costs_.begin(); cost != end; ++cost) {
    *value += cost->first;
    q[cost->second] = 1;
  }
  return q;
}

// Finds the adversary's answers to the mixture of the rows.
bool NdcgDoubleOracle::AnswerPredictor() {
  std::vector<double> d(psi_.size(), 0);
  for (size_t a = 0; a < simplex_.row_strategy().size(); ++a) {
    const double probability = simplex_.row_strategy()[a];
    for (size_t i = 0; i < d.size(); ++i) d[i] += probability * rows_[a][i];
  }
  std::vector<Answer> answers;
  for (size_t t = empty_score_.has_value() ? 0 : 1; t <= psi_.size(); ++t) {
    Answer answer{0, t};
    CheapestSet(d, t, &answer.value);
    answers.push_back(answer);
  }
  std::stable_sort(
      answers.begin(), answers.end(),
      [](const Answer& a, const Answer& b) { return a.value < b.value; });
  if (answers[0].value > lower_) {
    lower_ = answers[0].value;
    best_d_ = d;
  }
  bool added = false;
  for (size_t a = 0; a < std::min(answers.size(), kMaxAnswers); ++a) {
    if (answers[a].value >= simplex_.value() - kGain) break;
    double value = 0;
    AddAdversary(answers[a].num_positives,
                 CheapestSet(d, answers[a].num_positives, &value));
    added = true;
  }
  return added;
}

// Finds the predictor's answer to the mixture of the columns.
bool NdcgDoubleOracle::AnswerAdversary() {
  const size_t n = psi_.size();
  std::vector<NdcgSets> sets;
  std::vector<double> weights(n, 0);
  double upper = 0;
  for (size_t c = 0; c < simplex_.column_strategy().size(); ++c) {
    const Column& column = columns_[c];
    const double probability = simplex_.column_strategy()[c];
    if (probability == 0) continue;
    upper += probability * column.constant;
    auto place = std::find_if(sets.begin(), sets.end(), [&](const auto& s) {
      return s.num_positives == column.num_positives;
    });
    if (place == sets.end()) {
      sets.push_back({column.num_positives, 0, std::vector<double>(n, 0)});
      place = sets.end() - 1;
    }
    place->probability += probability;
    for (size_t i = 0; i < n; ++i) {
      place->positives[i] += probability * column.q[i];
      if (column.num_positives == 0) continue;
      weights[i] += probability * column.q[i] / column.normaliser;
    }
  }
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return weights[a] > weights[b]; });
  std::vector<double> answer(n);
  for (size_t r = 0; r < n; ++r) {
    answer[order[r]] = (*discounts_)[r];
    upper += (*discounts_)[r] * weights[order[r]];
  }
  if (upper < upper_) {
    upper_ = upper;
    best_sets_ = std::move(sets);
  }
  if (upper <= simplex_.value() + kGain) return false;
  AddPredictor(std::move(answer));
  return true;
}

// Both players answer the strategies of Solve(), whatever has been added since.
bool NdcgDoubleOracle::Round() {
  if (!simplex_.Solve()) return false;
  const bool row_added = AnswerAdversary();
  const bool column_added = AnswerPredictor();
  return row_added || column_added;
}

}  // namespace sortition
