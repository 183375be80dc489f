#include "client/import/dsjson_features.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "core/base/hash.h"
#include "core/base/status_macros.h"
#include "io/text/parse_number.h"

namespace sortition {
namespace {

// Objects may lie in each other so deep.
constexpr int kMaxDepth = 8;

absl::Status TooDeep() {
  return absl::InvalidArgumentError(
      absl::StrCat("features lie more than ", kMaxDepth, " levels deep"));
}

// Names that begin with _ are no features, except for _text.
bool IsFeature(absl::string_view name) { return !absl::StartsWith(name, "_"); }

absl::string_view NameOf(const JsonValue::Member& member) {
  return TextOf(member.name);
}

// Returns the only namespace of a candidate; null where it has another number.
const JsonValue::Member* OnlyNamespace(const JsonValue& candidate) {
  const JsonValue::Member* found = nullptr;
  if (!candidate.IsObject()) return nullptr;
  for (const auto& member : candidate.GetObject()) {
    if (!IsFeature(NameOf(member))) continue;
    if (found != nullptr) return nullptr;
    found = &member;
  }
  return found != nullptr && (found->value.IsArray() || found->value.IsObject())
             ? found
             : nullptr;
}

absl::Status NeedsHash(absl::string_view what) {
  return absl::InvalidArgumentError(
      absl::StrCat(what,
                   "; --hash_bits takes features of any names, "
                   "--features those that a schema names"));
}

}  // namespace

void SparseRow::AppendTo(v1::SparseFeatures* features) {
  // By value too, so that the sum depends on nothing else.
  std::sort(entries_.begin(), entries_.end());
  for (size_t i = 0; i < entries_.size();) {
    const uint32_t column = entries_[i].first;
    float sum = 0;
    for (; i < entries_.size() && entries_[i].first == column; ++i) {
      sum += entries_[i].second;
    }
    if (sum == 0) continue;
    features->add_columns(column);
    features->add_values(sum);
  }
  features->add_row_offsets(static_cast<uint32_t>(features->columns_size()));
}

uint32_t HashedColumn(absl::string_view space, absl::string_view name,
                      uint32_t bits) {
  const Hash128 hash =
      StableHash(HashDomain::kContext, {"feature", space, name});
  return static_cast<uint32_t>(hash.low & ((uint64_t{1} << bits) - 1));
}

absl::Status DsjsonFeatures::Read(const JsonValue& context,
                                  uint32_t num_candidates,
                                  std::optional<uint32_t> num_features,
                                  log::v1::Decision* decision) {
  decision->set_num_candidates(num_candidates);
  if (hash_bits_ > 0) return ReadHashed(context, num_candidates, decision);
  for (const auto& member : context.GetObject()) {
    if (IsFeature(NameOf(member))) {
      return NeedsHash(absl::StrCat("c has the shared features '",
                                    Shown(NameOf(member)), "'"));
    }
  }
  return ReadNumbered(*FindMember(context, "_multi"), num_candidates,
                      num_features, decision);
}

absl::Status DsjsonFeatures::ReadNumbered(const JsonValue& multi,
                                          uint32_t num_candidates,
                                          std::optional<uint32_t> num_features,
                                          log::v1::Decision* decision) {
  decision->set_num_features(num_features.value_or(0));
  for (uint32_t i = 0; i < num_candidates; ++i) {
    const JsonValue::Member* const space = OnlyNamespace(multi[i]);
    if (space == nullptr) {
      return NeedsHash(absl::StrCat(
          "candidate ", i, " is not one namespace of numbered features"));
    }
    if (namespace_.empty()) namespace_ = std::string(NameOf(*space));
    if (namespace_ != NameOf(*space)) {
      return NeedsHash(absl::StrCat("features are in the namespaces '",
                                    Shown(namespace_), "' and '",
                                    Shown(NameOf(*space)), "'"));
    }
    const JsonValue* const names = &space->value;
    if (names->IsObject() != decision->has_sparse() && i > 0) {
      return NeedsHash("one candidate has an array, another one names");
    }
    if (names->IsObject()) {
      if (!num_features) return NeedsHash("_num_features is missing");
      if (i == 0) decision->mutable_sparse()->add_row_offsets(0);
      RETURN_IF_ERROR(AddNumberedRow(*names, decision));
      continue;
    }
    if (i == 0 && !num_features) decision->set_num_features(names->Size());
    if (names->Size() != decision->num_features()) {
      return absl::InvalidArgumentError(
          absl::StrCat("candidate ", i, " has ", names->Size(),
                       " features, must have ", decision->num_features()));
    }
    RETURN_IF_ERROR(AppendFloats(*names, "a candidate's features",
                                 decision->mutable_dense_values()));
  }
  return absl::OkStatus();
}

absl::Status DsjsonFeatures::AddNumberedRow(const JsonValue& names,
                                            log::v1::Decision* decision) {
  row_.Clear();
  for (const auto& member : names.GetObject()) {
    uint32_t column = 0;
    float value = 0;
    if (!ParseNumber(NameOf(member), &column) ||
        column >= decision->num_features()) {
      return NeedsHash(absl::StrCat("feature '", Shown(NameOf(member)),
                                    "' must be a column in [0, ",
                                    decision->num_features(), ")"));
    }
    if (!IsNumber(member.value) || !ParseNumber(TextOf(member.value), &value)) {
      return absl::InvalidArgumentError(
          absl::StrCat("feature '", column, "' is ", Describe(member.value),
                       ", must be a finite number"));
    }
    row_.Add(column, value);
  }
  row_.AppendTo(decision->mutable_sparse());
  return absl::OkStatus();
}

absl::Status DsjsonFeatures::ReadHashed(const JsonValue& context,
                                        uint32_t num_candidates,
                                        log::v1::Decision* decision) {
  decision->set_num_features(uint32_t{1} << hash_bits_);
  v1::SparseFeatures* const sparse = decision->mutable_sparse();
  sparse->add_row_offsets(0);
  const JsonValue& multi = *FindMember(context, "_multi");
  row_.Clear();
  RETURN_IF_ERROR(AddObject("", context, 0));
  const SparseRow shared = row_;
  for (uint32_t i = 0; i < num_candidates; ++i) {
    row_ = shared;
    if (!multi[i].IsObject()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "candidate ", i, " is ", Describe(multi[i]), ", must be an object"));
    }
    RETURN_IF_ERROR(AddObject("", multi[i], 0));
    row_.AppendTo(sparse);
  }
  return absl::OkStatus();
}

absl::Status DsjsonFeatures::AddObject(absl::string_view space,
                                       const JsonValue& object, int depth) {
  if (depth > kMaxDepth) return TooDeep();
  for (const auto& member : object.GetObject()) {
    const absl::string_view name = NameOf(member);
    const JsonValue& value = member.value;
    if (name == "_text" && IsText(value)) {
      for (const absl::string_view word : absl::StrSplit(
               TextOf(value), absl::ByAnyChar(" \t\r\n"), absl::SkipEmpty())) {
        Add(space, word, 1);
      }
    } else if (!IsFeature(name)) {
      continue;
    } else if (value.IsObject()) {
      RETURN_IF_ERROR(AddObject(name, value, depth + 1));
    } else if (value.IsArray()) {
      RETURN_IF_ERROR(AddArray(name, value, depth + 1));
    } else {
      RETURN_IF_ERROR(AddScalar(space, name, value));
    }
  }
  return absl::OkStatus();
}

absl::Status DsjsonFeatures::AddArray(absl::string_view space,
                                      const JsonValue& array, int depth) {
  if (depth > kMaxDepth) return TooDeep();
  for (uint32_t i = 0; i < array.Size(); ++i) {
    const JsonValue& value = array[i];
    if (value.IsObject()) {
      RETURN_IF_ERROR(AddObject(space, value, depth + 1));
    } else if (value.IsArray()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "'", Shown(space), "' has an array in an array, must have numbers, ",
          "strings or objects"));
    } else if (IsText(value)) {
      Add(space, TextOf(value), 1);  // A set: the place has no meaning.
    } else {
      RETURN_IF_ERROR(AddScalar(space, absl::StrCat(i), value));
    }
  }
  return absl::OkStatus();
}

absl::Status DsjsonFeatures::AddScalar(absl::string_view space,
                                       absl::string_view name,
                                       const JsonValue& value) {
  float number = 0;
  if (value.IsNull()) return absl::OkStatus();
  if (value.IsBool()) {
    if (value.GetBool()) Add(space, name, 1);
  } else if (IsText(value)) {
    // A category. No name has a zero byte, so that {"a=b": 1} is another one.
    Add(space, absl::StrCat(name, absl::string_view("\0", 1), TextOf(value)),
        1);
  } else if (ParseNumber(TextOf(value), &number)) {
    Add(space, name, number);
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat("feature '", Shown(name), "' is ", Describe(value),
                     ", must be a finite number"));
  }
  return absl::OkStatus();
}

}  // namespace sortition
