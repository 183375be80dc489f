#pragma once
// Ranges of a message's fields, checked by reflection. The range of a field is
// an annotation of its declaration: of policies sortition/model/v1/
// field_range.proto, of options sortition/config/v1/option.proto.
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/message.h"

namespace sortition {

// What an annotation allows. NaN and infinities are never allowed.
struct FieldRange {
  std::optional<double> min = std::nullopt;
  std::optional<double> max = std::nullopt;
  bool above_min = false;  // The minimum itself is not allowed.
  // Not empty: 0 is allowed as well and stands for this.
  absl::string_view zero = {};
  // Set: only the values that this enum declares are allowed, and not 0.
  const google::protobuf::EnumDescriptor* specified = nullptr;

  bool Contains(double value) const;
  // "[1, 256]", "(0, 1000], or 0 for 1", "at least 1", "finite", "DCG (1) or
  // PRECISION (2)".
  std::string Text() const;
};

// Returns the range that the declaration of a field states, if there is one.
using RangeOfField =
    std::optional<FieldRange> (*)(const google::protobuf::FieldDescriptor&);

struct FieldOutOfRange {
  std::string path;  // As in "game_ranking.cutoff" or "weights[3]".
  double value = 0;
  FieldRange range;
};

// Returns the first number or enum, in the order of declaration and
// sub-messages included, that is outside the range of its field. Fields that
// track their presence are skipped where they are not set, and so are fields
// without a range. Allocates nothing where all is well.
std::optional<FieldOutOfRange> FindOutOfRange(
    const google::protobuf::Message& message, RangeOfField range_of);

// InvalidArgument where `value` is outside `range`: "cutoff is -1, must be in
// [0, 1000000]".
absl::Status CheckInRange(absl::string_view field, double value,
                          const FieldRange& range);

// Shortest text of a number in messages: 10737418240, 0.05, 1e-06.
std::string NumberText(double value);

}  // namespace sortition
