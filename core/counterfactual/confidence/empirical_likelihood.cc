#include "core/counterfactual/confidence/empirical_likelihood.h"

#include <algorithm>
#include <cmath>

#include "core/base/stable_math.h"

namespace sortition {
namespace {

// numerator - θ denominator and, perhaps, something of mean 0; by block.
struct Equations {
  std::vector<double> numerator;
  std::vector<double> denominator;
  std::vector<double> zero_mean;
};

bool HaveOneDenominator(const RatioBlocks& blocks) {
  return std::all_of(blocks.begin(), blocks.end(),
                     [&](const RatioColumn& ratio) {
                       return ratio.denominator == blocks[0].denominator;
                     });
}

// Appends -max(1, log(B)/2) times the mean.
void AppendBalance(std::vector<double>* values) {
  if (values->empty()) return;
  const double size = static_cast<double>(values->size());
  values->push_back(-std::max(1.0, std::log(size) / 2) * stable::Sum(*values) /
                    size);
}

Equations MakeEquations(const LikelihoodTask& task,
                        const Deviations& deviations) {
  Equations equations;
  const size_t size = deviations.blocks.size();
  if (HaveOneDenominator(task.blocks)) {
    equations.denominator = task.blocks[0].denominator;
    equations.numerator.resize(size);
    for (const RatioColumn& ratio : task.blocks) {
      for (size_t b = 0; b < size; ++b) {
        equations.numerator[b] += ratio.factor * ratio.numerator[b];
      }
    }
  } else {
    equations.denominator.assign(size, 1);
    for (const double deviation : deviations.blocks) {
      equations.numerator.push_back(deviations.value +
                                    deviation * static_cast<double>(size));
    }
  }
  equations.zero_mean = task.zero_mean;
  AppendBalance(&equations.numerator);
  AppendBalance(&equations.denominator);
  AppendBalance(&equations.zero_mean);
  return equations;
}

// The multipliers λ of z and of what has mean 0, and where they lead.
struct Multipliers {
  double z = 0;
  double zero_mean = 0;
  double log_ratio = 0;  // Σ log(1 + λ·z)
};

// Sums of one Newton step, u_b = z_b / (1 + λ·z_b).
struct Derivatives {
  double log_ratio = 0;
  double z = 0, c = 0;            // Σ u
  double zz = 0, zc = 0, cc = 0;  // Σ u u'
};

Derivatives Differentiate(const std::vector<double>& z,
                          const std::vector<double>& c, const Multipliers& at) {
  constexpr size_t kFactors = 8;
  Derivatives sums;
  // Logarithms of products: fewer of them.
  double product = 1;
  for (size_t b = 0; b < z.size(); ++b) {
    const double zero_mean = c.empty() ? 0 : c[b];
    const double t = 1 + at.z * z[b] + at.zero_mean * zero_mean;
    product *= t;
    if (b % kFactors == kFactors - 1) {
      sums.log_ratio += std::log(product);
      product = 1;
    }
    const double u = z[b] / t;
    const double v = zero_mean / t;
    sums.z += u;
    sums.c += v;
    sums.zz += u * u;
    sums.zc += u * v;
    sums.cc += v * v;
  }
  sums.log_ratio += std::log(product);
  return sums;
}

// Maximises Σ log(1 + λ·z), which is self-concordant: damped Newton steps never
// leave its domain and always arrive [Nesterov04, sec. 4.1.5].
Multipliers Maximise(const std::vector<double>& z,
                     const std::vector<double>& c) {
  Multipliers best;
  constexpr int kMostSteps = 200;
  for (int step = 0; step < kMostSteps; ++step) {
    const Derivatives sums = Differentiate(z, c, best);
    best.log_ratio = sums.log_ratio;
    double along_z = sums.zz > 0 ? sums.z / sums.zz : 0;
    double along_c = 0;
    const double determinant = sums.zz * sums.cc - sums.zc * sums.zc;
    if (determinant > 1e-12 * sums.zz * sums.cc) {
      along_z = (sums.z * sums.cc - sums.c * sums.zc) / determinant;
      along_c = (sums.c * sums.zz - sums.z * sums.zc) / determinant;
    } else if (sums.zz == 0 && sums.cc > 0) {
      along_c = sums.c / sums.cc;
    }
    const double decrement =
        std::sqrt(std::max(0.0, sums.z * along_z + sums.c * along_c));
    if (decrement < 1e-9) break;
    const double damping = decrement < 0.25 ? 1 : 1 / (1 + decrement);
    best.z += damping * along_z;
    best.zero_mean += damping * along_c;
  }
  return best;
}

double LogRatio(const Equations& equations, double theta) {
  std::vector<double> z(equations.numerator.size());
  for (size_t b = 0; b < z.size(); ++b) {
    z[b] = equations.numerator[b] - theta * equations.denominator[b];
  }
  return Maximise(z, equations.zero_mean).log_ratio;
}

// Where the likelihood is largest, and its log ratio there.
struct Peak {
  double theta;
  double log_ratio;
};

Peak FindPeak(const Equations& equations) {
  const std::vector<double> nothing(equations.numerator.size());
  const Multipliers best = Maximise(nothing, equations.zero_mean);
  double numerator = 0;
  double denominator = 0;
  for (size_t b = 0; b < nothing.size(); ++b) {
    const double weight =
        equations.zero_mean.empty()
            ? 1
            : 1 / (1 + best.zero_mean * equations.zero_mean[b]);
    numerator += weight * equations.numerator[b];
    denominator += weight * equations.denominator[b];
  }
  return {numerator / denominator, best.log_ratio};
}

}  // namespace

std::optional<Interval> EmpiricalLikelihoodInterval(const LikelihoodTask& task,
                                                    double confidence) {
  const Deviations deviations = DeviationsOf(task.blocks);
  const size_t size = deviations.blocks.size();
  if (size < 3 || !deviations.is_known) return std::nullopt;
  const Equations equations = MakeEquations(task, deviations);
  const Peak peak = FindPeak(equations);
  // F with one degree of freedom is the square of Student's t.
  const double t = StudentQuantile((1 + confidence) / 2, size - 1);
  const double most_log_ratio = peak.log_ratio + t * t / 2;
  const auto end = [&](double far) {
    double near = peak.theta;
    if (LogRatio(equations, far) <= most_log_ratio) return far;
    constexpr int kSteps = 40;
    for (int step = 0; step < kSteps; ++step) {
      const double middle = (near + far) / 2;
      (LogRatio(equations, middle) <= most_log_ratio ? near : far) = middle;
    }
    return near;
  };
  return Interval{peak.theta, end(std::min(task.least, peak.theta)),
                  end(std::max(task.most, peak.theta))};
}

}  // namespace sortition
