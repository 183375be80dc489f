#include "core/counterfactual/evaluation/blend.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace sortition {
namespace {

// Effective decisions at which what is fitted counts half.
constexpr double kFewDecisions = 100;
constexpr size_t kNumClips = 3;  // Of kClips: up to 5.

// What is combined, each a single ratio: of counts, or of weights.
enum Part : size_t {
  kIps,
  kDr,
  kWeight,
  kDirect,
  kSnips,
  kResidual,  // Σ ρ (r - q) / Σ ρ: SNDR is the sum of it and kDirect.
  kFirstClip
};
constexpr size_t kNumParts = kFirstClip + kNumClips;

bool IsOfWeights(size_t part) { return part == kSnips || part == kResidual; }

// Σ_i factors[i] part_i + constant
struct Blend {
  std::array<double, kNumParts> factors = {};
  double constant = 0;

  // Returns (1 - share) · this + share · other.
  Blend MixedWith(const Blend& other, double share) const {
    Blend mixed;
    for (size_t i = 0; i < kNumParts; ++i) {
      mixed.factors[i] = (1 - share) * factors[i] + share * other.factors[i];
    }
    mixed.constant = (1 - share) * constant + share * other.constant;
    return mixed;
  }
  Blend Minus(const Blend& other) const {
    Blend difference = *this;
    for (size_t i = 0; i < kNumParts; ++i) {
      difference.factors[i] -= other.factors[i];
    }
    difference.constant -= other.constant;
    return difference;
  }
};

Blend Single(size_t part) {
  Blend blend;
  blend.factors[part] = 1;
  return blend;
}

// Returns the share, in [0, 1], for which (1 - share) a + share b has the least
// variance.
double ShareOfLeastVariance(double aa, double ab, double bb) {
  const double difference = aa - 2 * ab + bb;
  return difference > 0 ? std::clamp((aa - ab) / difference, 0.0, 1.0) : 0;
}

class Blender {
 public:
  Blender(const PolicySums& sums, size_t policy)
      : sums_(sums), policy_(policy) {
    const double n =
        std::min(sums.EffectiveSampleSize(policy),
                 static_cast<double>(sums.sums().num_used_groups()));
    trust_ = n / (n + kFewDecisions);
    parts_[kIps] = RatioOf({EstimatorKind::kIps});
    parts_[kDr] = RatioOf({EstimatorKind::kDoublyRobust});
    parts_[kWeight] = sums.MeanWeight(policy);
    parts_[kDirect] = RatioOf({EstimatorKind::kDirect});
    parts_[kSnips] = RatioOf({EstimatorKind::kSelfNormalised});
    parts_[kResidual] =
        sums.RatiosOf(policy, {EstimatorKind::kSelfNormalisedDr}).back();
    for (size_t i = 0; i < kNumClips; ++i) {
      parts_[kFirstClip + i] = RatioOf({EstimatorKind::kClippedDr, kClips[i]});
    }
    Measure();
  }

  Blend Best() const {
    const Blend unbiased = Unbiased();
    const Blend model_bias = Single(kDirect).Minus(unbiased);
    const double square =
        std::pow(ValueOf(model_bias), 2) + Covariance(model_bias, model_bias);
    Blend best = unbiased;
    double least = Covariance(unbiased, unbiased);
    for (size_t i = 0; i < kNumClips; ++i) {
      const Blend clipped = Single(kFirstClip + i);
      const Blend difference = clipped.Minus(unbiased);
      const double bias = std::pow(ShareCut(i) / trust_, 2) * square;
      const double all = bias + Covariance(difference, difference);
      const double share = all > 0 ? bias / all : 1;
      const Blend mixed = clipped.MixedWith(unbiased, share);
      const double risk =
          Covariance(mixed, mixed) + std::pow(1 - share, 2) * bias;
      if (risk >= least) continue;
      least = risk;
      best = mixed;
    }
    return best;
  }

  // Those of one denominator become one ratio.
  std::vector<Ratio> RatiosOf(const Blend& blend) const {
    Ratio counts = {{}, parts_[kIps].denominator};
    Ratio weights = {{}, parts_[kSnips].denominator};
    for (const SumTerm& count : counts.denominator) {
      counts.numerator.push_back({count.entry, blend.constant * count.factor});
    }
    for (size_t i = 0; i < kNumParts; ++i) {
      for (const SumTerm& term : parts_[i].numerator) {
        (IsOfWeights(i) ? weights : counts)
            .numerator.push_back({term.entry, term.factor * blend.factors[i]});
      }
    }
    return {std::move(counts), std::move(weights)};
  }

 private:
  Ratio RatioOf(const Estimator& estimator) const {
    return sums_.RatiosOf(policy_, estimator)[0];
  }

  // Values of the parts, and their covariances by group.
  void Measure() {
    const GroupSums& sums = sums_.sums();
    std::array<double, kNumParts> all = {};
    for (size_t i = 0; i < kNumParts; ++i) {
      all[i] = ApplyToTotals(parts_[i].denominator, sums);
      values_[i] =
          all[i] != 0 ? ApplyToTotals(parts_[i].numerator, sums) / all[i] : 0;
    }
    std::array<double, kNumParts> deviations = {};
    for (size_t g = 0; g < sums.num_groups(); ++g) {
      if (!sums.is_used(g)) continue;
      for (size_t i = 0; i < kNumParts; ++i) {
        if (all[i] == 0) continue;
        deviations[i] =
            (Apply(parts_[i].numerator, sums.group(g)) -
             values_[i] * Apply(parts_[i].denominator, sums.group(g))) /
            all[i];
        for (size_t j = 0; j <= i; ++j) {
          covariances_[i][j] += deviations[i] * deviations[j];
        }
      }
    }
  }

  double Covariance(const Blend& a, const Blend& b) const {
    double sum = 0;
    for (size_t i = 0; i < kNumParts; ++i) {
      for (size_t j = 0; j < kNumParts; ++j) {
        sum += a.factors[i] * b.factors[j] *
               covariances_[std::max(i, j)][std::min(i, j)];
      }
    }
    return sum;
  }
  // Returns 0 if the variance is a rounding error, about 1e-16 of the parts.
  double VarianceOfControl(const Blend& control) const {
    constexpr double kRounding = 1e-12;
    double magnitude = 0;
    for (size_t i = 0; i < kNumParts; ++i) {
      magnitude += std::abs(control.factors[i] * values_[i]);
    }
    const double variance = Covariance(control, control);
    return variance > std::pow(kRounding * magnitude, 2) ? variance : 0;
  }
  double ValueOf(const Blend& blend) const {
    double value = blend.constant;
    for (size_t i = 0; i < kNumParts; ++i) {
      value += blend.factors[i] * values_[i];
    }
    return value;
  }

  // A of the header.
  Blend Unbiased() const {
    const Blend snips = Single(kSnips);
    Blend sndr = Single(kDirect);
    sndr.factors[kResidual] = 1;
    const double to_sndr =
        ShareOfLeastVariance(Covariance(snips, snips), Covariance(snips, sndr),
                             Covariance(sndr, sndr));
    return snips.MixedWith(sndr, to_sndr).MixedWith(WithControls(), trust_);
  }

  Blend WithControls() const {
    const Blend ips = Single(kIps);
    const Blend weight = Single(kWeight);
    const Blend model = ips.Minus(Single(kDr));
    const double ww = VarianceOfControl(weight);
    const double wm = Covariance(weight, model);
    const double mm = VarianceOfControl(model);
    const double iw = Covariance(ips, weight);
    const double im = Covariance(ips, model);
    // Without the other one if they are nearly the same, or constant.
    constexpr double kLeastPart = 1e-9;
    const double determinant = ww * mm - wm * wm;
    double of_weight = ww > 0 ? iw / ww : 0;
    double of_model = ww > 0 || mm == 0 ? 0 : im / mm;
    if (determinant > kLeastPart * ww * mm) {
      of_weight = (iw * mm - im * wm) / determinant;
      of_model = (im * ww - iw * wm) / determinant;
    }
    Blend fitted = ips;
    fitted.factors[kIps] -= of_model;
    fitted.factors[kDr] += of_model;
    fitted.factors[kWeight] -= of_weight;
    fitted.constant += of_weight;
    return fitted;
  }

  // c of the header.
  double ShareCut(size_t clip) const {
    const auto mean_of = [&](ClippedTerm term) {
      return sums_.weights(policy_).Of(term, clip, sums_.rewards()).mean;
    };
    return std::max(
        0.0, 1 - mean_of(ClippedTerm::kReward) - mean_of(ClippedTerm::kRegret));
  }

  const PolicySums& sums_;
  const size_t policy_;
  double trust_;  // f of the header.
  std::array<Ratio, kNumParts> parts_;
  std::array<double, kNumParts> values_ = {};
  // Lower triangle.
  std::array<std::array<double, kNumParts>, kNumParts> covariances_ = {};
};

}  // namespace

std::vector<Ratio> BlendedRatios(const PolicySums& sums, size_t policy) {
  if (sums.EffectiveSampleSize(policy) == 0) {
    return sums.RatiosOf(policy, {EstimatorKind::kDirect});
  }
  const Blender blender(sums, policy);
  return blender.RatiosOf(blender.Best());
}

}  // namespace sortition
