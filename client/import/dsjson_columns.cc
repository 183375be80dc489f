#include "client/import/dsjson_columns.h"

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/status_macros.h"
#include "io/columns/json_row.h"
#include "io/text/parse_number.h"

namespace sortition {
namespace {

using model::v1::ColumnSchema;

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
  num_found_ = 0;
  RETURN_IF_ERROR(ReadRow(context, "c", ColumnSchema::QUERY));
  const JsonValue& multi = *FindMember(context, "_multi");
  for (uint32_t i = 0; i < num_candidates; ++i) {
    RETURN_IF_ERROR(ReadRow(multi[i], absl::StrCat("c._multi[", i, "]"),
                            ColumnSchema::CANDIDATE));
    builder_.AddCandidate();
  }
  if (num_found_ == 0) return NothingFound(context);
  decision->set_num_candidates(num_candidates);
  return builder_.Finish(decision->mutable_columns());
}

absl::Status DsjsonColumns::NothingFound(const JsonValue& context) {
  std::vector<std::string> found;
  for (const bool of_candidate : {false, true}) {
    namespaces_.clear();
    RETURN_IF_ERROR(FindNamespaces(
        of_candidate ? (*FindMember(context, "_multi"))[0] : context, 0));
    for (const Namespace& space : namespaces_) {
      found.push_back(Shown(space.name));
    }
  }
  std::vector<std::string> wanted;
  for (size_t i = 0; i < schema_.size(); ++i) {
    wanted.push_back(schema_.column(i).name());
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "the decision has none of the columns of --features (",
      Shown(absl::StrJoin(wanted, ", ")), "); it has ",
      found.empty() ? "no namespaces"
                    : absl::StrCat("the namespaces ",
                                   Shown(absl::StrJoin(found, ", ")))));
}

absl::Status DsjsonColumns::FindNamespaces(const JsonValue& value, int depth) {
  constexpr int kMaxDepth = 8;
  if (depth > kMaxDepth) {
    return absl::InvalidArgumentError(
        absl::StrCat("namespaces lie more than ", kMaxDepth, " levels deep"));
  }
  if (value.IsArray()) {
    for (const JsonValue& element : value.GetArray()) {
      if (!element.IsObject()) continue;
      RETURN_IF_ERROR(FindNamespaces(element, depth + 1));
    }
    return absl::OkStatus();
  }
  for (const auto& member : value.GetObject()) {
    const absl::string_view name = TextOf(member.name);
    if (absl::StartsWith(name, "_")) continue;
    if (!member.value.IsObject() && !member.value.IsArray()) continue;
    namespaces_.push_back({name, &member.value});
    RETURN_IF_ERROR(FindNamespaces(member.value, depth + 1));
  }
  return absl::OkStatus();
}

absl::StatusOr<const JsonValue*> DsjsonColumns::FindColumn(
    const JsonValue& row, const std::string& name) const {
  const JsonValue* found = nullptr;
  int count = 0;
  const auto take = [&](const JsonValue* value) {
    if (value == nullptr) return;
    found = value;
    ++count;
  };
  // Takes the features that are directly in a namespace.
  const auto take_feature = [&](const JsonValue& space, const char* feature) {
    if (!space.IsArray()) return take(FindMember(space, feature));
    for (const JsonValue& element : space.GetArray()) {
      take(FindMember(element, feature));
    }
  };
  const JsonValue* const direct = FindMember(row, name.c_str());
  if (direct != nullptr && !direct->IsObject() && !direct->IsArray()) {
    take(direct);
  }
  for (const Namespace& space : namespaces_) {
    if (space.name == name) take(space.value);
  }
  // A dot may be part of the name of a namespace.
  for (size_t dot = name.find('.'); count == 0 && dot != std::string::npos;
       dot = name.find('.', dot + 1)) {
    for (const Namespace& space : namespaces_) {
      if (space.name != absl::string_view(name).substr(0, dot)) continue;
      take_feature(*space.value, name.c_str() + dot + 1);
    }
  }
  if (count > 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("is there ", count,
                     " times, must be there at most once; --hash_bits adds up "
                     "features of one name"));
  }
  return found;
}

absl::Status DsjsonColumns::ReadRow(const JsonValue& object,
                                    const std::string& place,
                                    ColumnSchema::Scope scope) {
  if (!object.IsObject()) return Wrong(place, object, "an object");
  namespaces_.clear();
  RETURN_IF_ERROR(FindNamespaces(object, 0));
  for (size_t i = 0; i < schema_.size(); ++i) {
    const ColumnSchema& column = schema_.column(i);
    if (column.scope() != scope) continue;
    const absl::StatusOr<const JsonValue*> value =
        FindColumn(object, column.name());
    if (!value.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(
          place, ".", column.name(), " ", value.status().message()));
    }
    if (*value == nullptr) continue;
    ++num_found_;
    RETURN_IF_ERROR(
        ReadValue(i, absl::StrCat(place, ".", column.name()), **value));
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
