#pragma once
// Numbers as a page shows them.
#include <cstdint>
#include <string>
#include <vector>

#include "sortition/model/v1/model.pb.h"

namespace sortition {

// Returns how many decimals show two digits of `width`: at least 0, at most 12;
// 4 if the width is 0 or unknown.
int DecimalsFor(double width);
// Returns the decimals for the narrowest of these intervals.
int DecimalsFor(const std::vector<model::v1::Estimate>& estimates);

// Returns "-0.0123", or "unknown" for NaN and "no limit" for what is infinite.
std::string FormatNumber(double value, int decimals);
// Returns "[0.10, 0.14]", "no limits" or "no interval".
std::string FormatInterval(const model::v1::Estimate& estimate, int decimals);
// Returns "0.12 [0.10, 0.14]".
std::string FormatEstimate(const model::v1::Estimate& estimate, int decimals);
// Returns "1,234,567".
std::string FormatCount(uint64_t count);
// Returns "1 decision" or "1,234 decisions"; `noun` is one that takes an s.
std::string FormatCountOf(uint64_t count, const std::string& noun);
// Returns "12.3 %".
std::string FormatShare(double share);
// Returns a number with `digits` digits, such as "0.0123" or "12,300"; words as
// FormatNumber().
std::string FormatRounded(double value, int digits);

}  // namespace sortition
