#pragma once
// A query whose candidates are labelled.
#include <cstdint>
#include <span>

#include "core/data/candidates.h"

namespace sortition {

// A view: what it was made from must outlive it.
struct LabelledItems {
  Candidates items;
  std::span<const uint32_t> relevances;  // One per item.
};

}  // namespace sortition
