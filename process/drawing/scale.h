#pragma once
// Maps the values of an axis to pixels.
#include <vector>

namespace sortition {

// A linear map of [low, high] to the pixels [begin, end].
struct Scale {
  double low;
  double high;
  double begin;
  double end;

  double operator()(double value) const {
    return begin + (value - low) / (high - low) * (end - begin);
  }
};

// Returns a scale of values in [low, high] with some room at both ends.
Scale MakeScale(double low, double high, double begin, double end);

// Returns between 3 and 9 round numbers in [low, high]; `low` alone where the
// two are equal.
std::vector<double> Ticks(double low, double high);

}  // namespace sortition
