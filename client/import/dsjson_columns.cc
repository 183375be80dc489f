#include "client/import/dsjson_columns.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "io/columns/json_row.h"
#include "io/text/parse_number.h"

namespace sortition {
namespace {

using model::v1::ColumnSchema;

// Returns what stands for a column in a context or a candidate; null: nothing.
const JsonValue* FindColumn(const JsonValue& object, const std::string& name) {
  if (const JsonValue* const whole = FindMember(object, name.c_str())) {
    return whole;
  }
  const size_t dot = name.find('.');
  if (dot == std::string::npos) return nullptr;
  const JsonValue* const space =
      FindMember(object, name.substr(0, dot).c_str());
  return space == nullptr ? nullptr
                          : FindMember(*space, name.substr(dot + 1).c_str());
}

// Returns the value of an object with one member, other values as they are.
const JsonValue& OnlyValue(const JsonValue& value) {
  return value.IsObject() && value.MemberCount() == 1
             ? value.MemberBegin()->value
             : value;
}

// Whether a feature is there: a number other than 0, or true.
bool IsThere(const JsonValue& value) {
  double number = 0;
  if (value.IsBool()) return value.GetBool();
  return IsNumber(value) && ParseNumber(TextOf(value), &number) && number != 0;
}

absl::Status Wrong(const std::string& path, const JsonValue& value,
                   absl::string_view permitted) {
  return absl::InvalidArgumentError(
      absl::StrCat(path, " is ", Describe(value), ", must be ", permitted));
}

}  // namespace

absl::Status DsjsonColumns::Read(const JsonValue& context,
                                 uint32_t num_candidates,
                                 log::v1::Decision* decision) {
  builder_.Start("", 0);
  RETURN_IF_ERROR(ReadRow(context, "c", ColumnSchema::QUERY));
  const JsonValue& multi = *FindMember(context, "_multi");
  for (uint32_t i = 0; i < num_candidates; ++i) {
    RETURN_IF_ERROR(ReadRow(multi[i], absl::StrCat("c._multi[", i, "]"),
                            ColumnSchema::CANDIDATE));
    builder_.AddCandidate();
  }
  decision->set_num_candidates(num_candidates);
  return builder_.Finish(decision->mutable_columns());
}

absl::Status DsjsonColumns::ReadRow(const JsonValue& object,
                                    const std::string& place,
                                    ColumnSchema::Scope scope) {
  if (!object.IsObject()) return Wrong(place, object, "an object");
  for (size_t i = 0; i < schema_.size(); ++i) {
    const ColumnSchema& column = schema_.column(i);
    if (column.scope() != scope) continue;
    const JsonValue* const value = FindColumn(object, column.name());
    if (value == nullptr) continue;
    RETURN_IF_ERROR(
        ReadValue(i, absl::StrCat(place, ".", column.name()), *value));
  }
  return absl::OkStatus();
}

absl::Status DsjsonColumns::ReadValue(size_t column, const std::string& path,
                                      const JsonValue& value) {
  if (value.IsNull()) {
    builder_.SetMissing(column);
    return absl::OkStatus();
  }
  switch (schema_.column(column).type()) {
    case ColumnSchema::NUMBER:
      return ReadNumber(column, path, value);
    case ColumnSchema::CATEGORY:
      return ReadCategory(column, path, value);
    case ColumnSchema::CATEGORY_SET:
      return ReadSet(column, path, value);
    case ColumnSchema::VECTOR:
      return SetJsonVector(column, path, value, &builder_);
    default: {
      const JsonValue* const text = FindMember(value, "_text");
      if (text == nullptr ? !IsText(value) : !IsText(*text)) {
        return Wrong(path, value, "a string or {\"_text\": a string}");
      }
      builder_.SetText(column, TextOf(text == nullptr ? value : *text));
      return absl::OkStatus();
    }
  }
}

absl::Status DsjsonColumns::ReadNumber(size_t column, const std::string& path,
                                       const JsonValue& value) {
  const JsonValue& only = OnlyValue(value);
  double number = only.IsBool() && only.GetBool() ? 1 : 0;
  if (!only.IsBool() &&
      (!IsNumber(only) || !ParseNumber(TextOf(only), &number))) {
    return Wrong(path, only, "a finite number, or an object with one");
  }
  builder_.SetNumber(column, number);
  return absl::OkStatus();
}

absl::Status DsjsonColumns::ReadCategory(size_t column, const std::string& path,
                                         const JsonValue& value) {
  const JsonValue& only = OnlyValue(value);
  if (IsText(only)) {
    builder_.SetText(column, TextOf(only));
  } else if (&only != &value && IsThere(only)) {
    builder_.SetText(column, TextOf(value.MemberBegin()->name));
  } else {
    return Wrong(path, value, "a string, or an object with one feature");
  }
  return absl::OkStatus();
}

absl::Status DsjsonColumns::ReadSet(size_t column, const std::string& path,
                                    const JsonValue& value) {
  if (!value.IsObject()) return SetJsonSet(column, path, value, &builder_);
  std::vector<std::string> members;
  for (const auto& member : value.GetObject()) {
    const absl::string_view name = TextOf(member.name);
    if (IsText(member.value)) {
      members.push_back(absl::StrCat(name, "=", TextOf(member.value)));
    } else if (IsThere(member.value)) {
      members.emplace_back(name);
    } else if (!IsNumber(member.value) && !member.value.IsBool() &&
               !member.value.IsNull()) {
      return Wrong(absl::StrCat(path, ".", Shown(name)), member.value,
                   "a number or a string");
    }
  }
  const std::vector<absl::string_view> views(members.begin(), members.end());
  builder_.SetSet(column, views);
  return absl::OkStatus();
}

}  // namespace sortition
