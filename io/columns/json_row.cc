#include "io/columns/json_row.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "io/text/parse_number.h"

namespace sortition {

using model::v1::ColumnSchema;

absl::Status JsonRow::Read(const JsonValue& object, const std::string& place,
                           ColumnSchema::Scope scope,
                           std::span<const absl::string_view> ignored,
                           QueryBuilder* builder) {
  if (!object.IsObject()) {
    return absl::InvalidArgumentError(
        absl::StrCat(place, " is ", Describe(object), ", must be an object"));
  }
  seen_.assign(schema_.size(), false);
  for (const auto& member : object.GetObject()) {
    const absl::string_view name = TextOf(member.name);
    if (std::find(ignored.begin(), ignored.end(), name) != ignored.end()) {
      continue;
    }
    const std::string path = absl::StrCat(place, ".", Shown(name));
    const auto column = schema_.Find(name);
    if (!column.has_value() && skips_others_) continue;
    if (!column.has_value() || schema_.column(*column).scope() != scope) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, " is not a column of the schema's scope ",
                       ColumnSchema::Scope_Name(scope)));
    }
    if (seen_[*column]) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, " is there twice, must be once"));
    }
    seen_[*column] = true;
    RETURN_IF_ERROR(ReadValue(*column, path, member.value, builder));
  }
  return absl::OkStatus();
}

absl::Status JsonRow::ReadValue(size_t column, const std::string& path,
                                const JsonValue& value, QueryBuilder* builder) {
  if (value.IsNull()) {
    builder->SetMissing(column);
    return absl::OkStatus();
  }
  switch (schema_.column(column).type()) {
    case ColumnSchema::NUMBER: {
      ASSIGN_OR_RETURN(const double number, FiniteNumber(value, path));
      builder->SetNumber(column, number);
      return absl::OkStatus();
    }
    case ColumnSchema::CATEGORY_SET:
      return SetJsonSet(column, path, value, builder);
    case ColumnSchema::VECTOR:
      return SetJsonVector(column, path, value, builder);
    default: {
      ASSIGN_OR_RETURN(const absl::string_view text, Text(value, path));
      builder->SetText(column, text);
      return absl::OkStatus();
    }
  }
}

absl::Status SetJsonSet(size_t column, const std::string& path,
                        const JsonValue& array, QueryBuilder* builder) {
  if (!array.IsArray()) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, " is ", Describe(array), ", must be an array of strings"));
  }
  std::vector<absl::string_view> values;
  for (const JsonValue& each : array.GetArray()) {
    ASSIGN_OR_RETURN(const absl::string_view text, Text(each, path));
    values.push_back(text);
  }
  builder->SetSet(column, values);
  return absl::OkStatus();
}

absl::Status SetJsonVector(size_t column, const std::string& path,
                           const JsonValue& array, QueryBuilder* builder) {
  google::protobuf::RepeatedField<float> numbers;
  RETURN_IF_ERROR(AppendFloats(array, path, &numbers));
  return builder->SetVector(
      column, {numbers.data(), static_cast<size_t>(numbers.size())});
}

}  // namespace sortition
