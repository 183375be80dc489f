#pragma once
// Evidence against the hypothesis that a mean is not positive, which may be
// looked at after every observation.
#include <array>
#include <cstddef>

namespace sortition {

// A gambler bets in every round that z_t is positive. The wealth of the share
// c_k = 2^-k, k = 1 .. 12, is
//   W_k = Π_t (1 + c_k z_t / l_t),  z_t >= -l_t, l_t known before the round,
// and the evidence is the mean of all W_k. If E[z_t | rounds before] <= 0, each
// factor is positive and at most 1 on average: the evidence is a nonnegative
// supermartingale that begins with 1, so that it ever reaches 1/α with
// probability at most α [Ville39]: e-process, always-valid [RamdasEtAl23]. A
// mixture of shares [HowardEtAl21; WaudbySmithRamdas24, sec. 4] costs a factor
// of at most 12 beside the share that turns out best.
class MixtureBets {
 public:
  static constexpr size_t kShares = 12;

  MixtureBets() { wealth_.fill(1.0); }

  // Requires least > 0 and z >= -least.
  void Add(double z, double least);

  // Return the logarithms of the evidence now, and of the most that it was.
  double LogEvidence() const;
  double MostLogEvidence() const;
  // Returns that of the share that has won most.
  double LogWealthOfBest() const;

 private:
  // Times e^log_scale_, so that no winner overflows.
  std::array<double, kShares> wealth_;
  double log_scale_ = 0;
  double most_log_scale_ = 0;
  double most_sum_ = kShares;  // Times e^most_log_scale_.
};

}  // namespace sortition
