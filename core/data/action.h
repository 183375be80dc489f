#pragma once
// The actions that a policy can take for a query.
#include <cstdint>
#include <vector>

namespace sortition {

enum class ActionKind { kSelect, kRank, kSubset };

// In place of a document_index: nothing is selected.
inline constexpr int32_t kAbstain = -1;

// kSelect: one document_index, or kAbstain. kRank: document_index by rank.
// kSubset: document indexes, ascending; may be empty.
using Action = std::vector<int32_t>;

}  // namespace sortition
