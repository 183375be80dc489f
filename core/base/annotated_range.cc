#include "core/base/annotated_range.h"

#include "absl/strings/str_cat.h"
#include "sortition/model/v1/field_range.pb.h"

namespace sortition {

std::optional<FieldRange> AnnotatedRange(
    const google::protobuf::FieldDescriptor& field) {
  if (!field.options().HasExtension(model::v1::range)) return std::nullopt;
  const model::v1::FieldRange& annotation =
      field.options().GetExtension(model::v1::range);
  FieldRange range;
  if (annotation.has_min()) range.min = annotation.min();
  if (annotation.has_max()) range.max = annotation.max();
  range.above_min = annotation.above_min();
  range.zero = annotation.zero();
  if (annotation.specified()) range.specified = field.enum_type();
  return range;
}

absl::Status CheckAnnotatedRanges(const google::protobuf::Message& message,
                                  absl::string_view name) {
  const std::optional<FieldOutOfRange> found =
      FindOutOfRange(message, AnnotatedRange);
  if (!found.has_value()) return absl::OkStatus();
  return CheckInRange(absl::StrCat(name, ".", found->path), found->value,
                      found->range);
}

}  // namespace sortition
