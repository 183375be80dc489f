#pragma once
// A short notation for how a ranking explores around its scores.
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "sortition/model/v1/model.pb.h"

namespace sortition {

// Returns the policy that `text` names: one of
//   pl[:alpha=A][:factors=F/F/...][:uniform=E]
//   sorted[:alpha=A][:swap=W][:shuffle=PxK][:uniform=E]
// with parts in any order. They are Plackett-Luce with rank factors F; and the
// order by score with swaps near ties (swap_probability W) and, with
// probability P, its first K ranks shuffled. A is the inverse temperature,
// `alpha` unless given, and E the uniform mixture, 0 unless given.
//
// InvalidArgument naming `text`, the part, and what is permitted.
absl::StatusOr<model::v1::Policy> ParseExploration(absl::string_view text,
                                                   double alpha);

}  // namespace sortition
