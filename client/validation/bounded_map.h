#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "client/validation/log_check.h"

namespace sortition {

// What is counted by version, writer or the like. Their names and numbers come
// from the log: not too many are kept.
template <typename Key, typename Value>
class BoundedMap {
 public:
  static constexpr size_t kMost = 10000;
  static constexpr size_t kMostNameBytes = size_t{1} << 20;

  // Returns the value of `key`, whose names have `name_bytes`: if it is new,
  // one of these arguments. Null if there is no room for it.
  template <typename... Arguments>
  Value* Get(const Key& key, size_t name_bytes, Arguments&&... arguments) {
    const auto known = entries_.find(key);
    if (known != entries_.end()) return &known->second;
    if (entries_.size() >= kMost || name_bytes_ + name_bytes > kMostNameBytes) {
      ++left_out_;
      return nullptr;
    }
    name_bytes_ += name_bytes;
    return &entries_.try_emplace(key, std::forward<Arguments>(arguments)...)
                .first->second;
  }

  const std::map<Key, Value>& entries() const { return entries_; }

  // Warns of what Get() had no room for: `things`, such as "decisions", of
  // `groups`, such as "versions".
  void AppendLeftOut(absl::string_view things, absl::string_view groups,
                     std::vector<Finding>* findings) const {
    if (left_out_ == 0) return;
    findings->push_back(
        {Level::kWarn,
         absl::StrCat(left_out_, " ", things, " were not looked at: they have ",
                      "other ", groups, " than the first ", entries_.size())});
  }

 private:
  std::map<Key, Value> entries_;
  size_t name_bytes_ = 0;
  uint64_t left_out_ = 0;  // Calls that returned null.
};

}  // namespace sortition
