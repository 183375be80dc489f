#include "core/counterfactual/sequential/mixture_bets.h"

#include <algorithm>
#include <cmath>

namespace sortition {
namespace {

constexpr double kTooMuch = 1e200;

constexpr std::array<double, MixtureBets::kShares> Shares() {
  std::array<double, MixtureBets::kShares> shares = {};
  double share = 1;
  for (double& each : shares) each = share /= 2;
  return shares;
}

}  // namespace

void MixtureBets::Add(double z, double least) {
  static constexpr std::array<double, kShares> kShare = Shares();
  // Rounding must not make a factor negative.
  const double won = std::max(z / least, -1.0);
  double sum = 0;
  for (size_t k = 0; k < kShares; ++k) {
    wealth_[k] *= 1 + kShare[k] * won;
    sum += wealth_[k];
  }
  if (sum > kTooMuch) {
    // What is lost here is too little to matter.
    for (double& wealth : wealth_) wealth /= sum;
    log_scale_ += std::log(sum);
    sum = 1;
  }
  if (log_scale_ > most_log_scale_ ||
      (log_scale_ == most_log_scale_ && sum > most_sum_)) {
    most_log_scale_ = log_scale_;
    most_sum_ = sum;
  }
}

double MixtureBets::LogEvidence() const {
  double sum = 0;
  for (const double wealth : wealth_) sum += wealth;
  return log_scale_ + std::log(sum / kShares);
}

double MixtureBets::MostLogEvidence() const {
  return most_log_scale_ + std::log(most_sum_ / kShares);
}

double MixtureBets::LogWealthOfBest() const {
  return log_scale_ +
         std::log(*std::max_element(wealth_.begin(), wealth_.end()));
}

}  // namespace sortition
