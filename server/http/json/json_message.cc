#include "server/http/json/json_message.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "absl/container/inlined_vector.h"
#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "core/base/hash.h"
#include "core/base/status_macros.h"
#include "google/protobuf/reflection.h"
#include "server/http/json/json_names.h"
#include "server/http/json/json_numbers.h"
#include "sortition/v1/columns.pb.h"
#include "sortition/v1/ranking.pb.h"

namespace sortition {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DynamicCastToGenerated;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

bool IsUntyped(const FieldDescriptor* field) {
  return field->message_type() != nullptr && !field->is_map() &&
         field->message_type()->file()->package() == "google.protobuf";
}

// Returns the field whose list stands for the whole message, as in
// "texts": ["a", "b"]; null: there is none.
const FieldDescriptor* ListFieldOf(const Descriptor* type) {
  const FieldDescriptor* const values = type->FindFieldByName("values");
  return values != nullptr && values->is_repeated() ? values : nullptr;
}

// Returns whether the keys of an object that stands for Columns are names of
// columns. Otherwise they are the fields of the message, whose values are
// objects, or lists of objects.
bool NamesColumns(const JsonValue& json) {
  for (const auto& member : json.GetObject()) {
    const absl::string_view key = TextOf(member.name);
    const JsonValue& value = member.value;
    if (FindJsonField(*v1::Columns::descriptor(), key) == nullptr) continue;
    if ((key != "query" && key != "candidate") || value.IsObject() ||
        (value.IsArray() && !value.Empty() && value[0].IsObject())) {
      return false;
    }
  }
  return json.MemberCount() > 0;
}

// Returns an id that is the same for the same feedback: a repetition counts
// once.
std::string FeedbackIdOf(const v1::Feedback& feedback) {
  const Hash128 hash = HashBytes(feedback.SerializeAsString());
  return absl::StrFormat("http-%016x%016x", hash.high, hash.low);
}

}  // namespace

std::string InWordsOfBody(const BodyNames& names, absl::string_view message) {
  return absl::StrReplaceAll(message, names);
}

void JsonMessageParser::NoteName(absl::string_view field,
                                 absl::string_view in_body) {
  std::pair<std::string, std::string> name{field, in_body};
  if (std::find(names_.begin(), names_.end(), name) == names_.end()) {
    names_.push_back(std::move(name));
  }
}

absl::Status JsonMessageParser::Parse(const JsonValue& json, Message* message) {
  root_ = message->GetDescriptor();
  return ParseMessage(json, message);
}

absl::Status JsonMessageParser::ParsePart(const JsonValue& json,
                                          absl::string_view key, size_t index,
                                          absl::string_view field,
                                          Message* message) {
  const JsonPath::Scope in_key(&path_, key);
  const JsonPath::Scope in_entry(&path_, index);
  const JsonPath::Scope in_field(&path_, field);
  return Parse(json, message);
}

const ColumnTypes& JsonMessageParser::types() {
  if (!types_.has_value()) {
    types_ = (*find_types_)(model_).value_or(ColumnTypes());
  }
  return *types_;
}

absl::Status JsonMessageParser::RefuseMessage(const JsonValue& json,
                                              const Descriptor& type) const {
  return path_.Refuse(
      json, absl::StrCat(&type == root_ ? "a JSON object" : "an object",
                         SuchAs(type)));
}

absl::Status JsonMessageParser::UnknownField(const Descriptor& type,
                                             absl::string_view key) const {
  return absl::InvalidArgumentError(
      absl::StrCat("unknown field \"", path_.TextOfField(key), "\"; ",
                   NameHint(*root_, type, path_, key)));
}

absl::Status JsonMessageParser::ParseMessage(const JsonValue& json,
                                             Message* message) {
  if (json.IsArray()) return ParseListForm(json, message);
  const Descriptor& type = *message->GetDescriptor();
  if (!json.IsObject()) {
    return RefuseMessage(json, type);
  }
  if (&type == v1::Columns::descriptor() && NamesColumns(json)) {
    return AddLists(json, types(), &path_,
                    DynamicCastToGenerated<v1::Columns>(message));
  }
  if (&type == v1::ReportFeedbackRequest::descriptor() &&
      json.MemberCount() > 0 && !json.HasMember("feedback")) {
    NoteName("feedback[0]: ", "");
    return ParseShortFeedback(
        json, DynamicCastToGenerated<v1::ReportFeedbackRequest>(message)
                  ->add_feedback());
  }
  return ParseFields(json, message);
}

absl::Status JsonMessageParser::ParseFields(const JsonValue& json,
                                            Message* message) {
  const Descriptor& type = *message->GetDescriptor();
  const Reflection& reflection = *message->GetReflection();
  if (&type == v1::DecisionContext::descriptor()) {
    const auto model = json.FindMember("model");
    if (model != json.MemberEnd() && model->value.IsString()) {
      model_ = std::string(TextOf(model->value));
    }
  }
  absl::InlinedVector<std::pair<const FieldDescriptor*, absl::string_view>, 16>
      seen;
  for (const auto& member : json.GetObject()) {
    const absl::string_view key = TextOf(member.name);
    const FieldDescriptor* const field = FindJsonField(type, key);
    if (field == nullptr) return UnknownField(type, key);
    for (const auto& [other, other_key] : seen) {
      if (other != field) continue;
      return absl::InvalidArgumentError(absl::StrCat(
          "fields \"", path_.TextOfField(other_key), "\" and \"",
          path_.TextOfField(key),
          "\" are two spellings of one field: only one of them may be there"));
    }
    seen.emplace_back(field, key);
    if (key != absl::string_view(field->name())) NoteName(field->name(), key);
    if (member.value.IsNull()) continue;
    const auto* const choice = field->real_containing_oneof();
    if (choice != nullptr && reflection.HasOneof(*message, choice)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "fields \"", path_.TextOfField(ChosenKey(seen, choice)), "\" and \"",
          path_.TextOfField(key), "\" are both there: only one of ",
          FieldNames(*choice), " may be"));
    }
    const JsonPath::Scope scope(&path_, key);
    RETURN_IF_ERROR(ParseField(member.value, field, message));
  }
  return Complete(message);
}

absl::Status JsonMessageParser::ParseField(const JsonValue& json,
                                           const FieldDescriptor* field,
                                           Message* message) {
  if (IsUntyped(field)) {
    if (field->is_repeated() && !json.IsArray()) {
      return path_.Refuse(json, "a list");
    }
    untyped_.push_back({field, &json, path_.Text()});
    return absl::OkStatus();
  }
  if (field->is_map()) return ParseMap(json, field, message);
  if (field->is_repeated()) return ParseList(json, field, message);
  return ParseValue(json, field, message);
}

absl::Status JsonMessageParser::ParseList(const JsonValue& json,
                                          const FieldDescriptor* field,
                                          Message* message) {
  if (json.IsObject() && field->message_type() == v1::Column::descriptor()) {
    return ParseNamedColumns(json, field, message);
  }
  if (!json.IsArray()) return path_.Refuse(json, Expected(field));
  if (!json.Empty() && json[0].IsArray() && TakesRows(field)) {
    return ParseRows(json, field, message);
  }
  if (field->cpp_type() == FieldDescriptor::CPPTYPE_FLOAT) {
    // The call itself refuses what is not finite here.
    return ParseFloats(json, field, /*are_finite=*/false, message);
  }
  for (rapidjson::SizeType i = 0; i < json.Size(); ++i) {
    const JsonPath::Scope scope(&path_, i);
    RETURN_IF_ERROR(ParseValue(json[i], field, message));
  }
  return absl::OkStatus();
}

absl::Status JsonMessageParser::ParseFloats(const JsonValue& json,
                                            const FieldDescriptor* field,
                                            bool are_finite, Message* message) {
  auto values = message->GetReflection()->GetMutableRepeatedFieldRef<float>(
      message, field);
  for (rapidjson::SizeType i = 0; i < json.Size(); ++i) {
    const std::optional<float> value = ToFloat(json[i]);
    if (!value.has_value() || (are_finite && !std::isfinite(*value))) {
      const JsonPath::Scope scope(&path_, i);
      return path_.Refuse(json[i], ExpectedEntry(field));
    }
    values.Add(*value);
  }
  return absl::OkStatus();
}

absl::Status JsonMessageParser::ParseMap(const JsonValue& json,
                                         const FieldDescriptor* field,
                                         Message* message) {
  if (!json.IsObject()) return path_.Refuse(json, "an object");
  const Descriptor* const entry_type = field->message_type();
  for (const auto& member : json.GetObject()) {
    Message* const entry = message->GetReflection()->AddMessage(message, field);
    const JsonPath::Scope scope(&path_, TextOf(member.name));
    RETURN_IF_ERROR(ParseValue(member.name, entry_type->map_key(), entry));
    RETURN_IF_ERROR(ParseValue(member.value, entry_type->map_value(), entry));
  }
  return absl::OkStatus();
}

absl::Status JsonMessageParser::ParseValue(const JsonValue& json,
                                           const FieldDescriptor* field,
                                           Message* message) {
  const Reflection& to = *message->GetReflection();
  const bool adds = field->is_repeated();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      if (!json.IsBool()) break;
      adds ? to.AddBool(message, field, json.GetBool())
           : to.SetBool(message, field, json.GetBool());
      return absl::OkStatus();
    case FieldDescriptor::CPPTYPE_FLOAT:
    case FieldDescriptor::CPPTYPE_DOUBLE: {
      const std::optional<double> value =
          field->cpp_type() == FieldDescriptor::CPPTYPE_FLOAT
              ? std::optional<double>(ToFloat(json))
              : ToDouble(json);
      if (!value.has_value()) break;
      if (field->cpp_type() == FieldDescriptor::CPPTYPE_FLOAT) {
        to.SetFloat(message, field, static_cast<float>(*value));
      } else {
        adds ? to.AddDouble(message, field, *value)
             : to.SetDouble(message, field, *value);
      }
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_STRING: {
      std::string text;
      if (json.IsString()) {
        text = std::string(TextOf(json));
      } else if (IsInteger(json)) {
        text = IntegerText(json);
      } else {
        break;
      }
      if (field->type() == FieldDescriptor::TYPE_BYTES &&
          !absl::Base64Unescape(TextOf(json), &text) &&
          !absl::WebSafeBase64Unescape(TextOf(json), &text)) {
        break;
      }
      adds ? to.AddString(message, field, std::move(text))
           : to.SetString(message, field, std::move(text));
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_MESSAGE:
      if (json.IsNull()) break;
      return ParseMessage(json, adds ? to.AddMessage(message, field)
                                     : to.MutableMessage(message, field));
    case FieldDescriptor::CPPTYPE_ENUM:
      return ParseEnum(json, field, message);
    default:
      return ParseInteger(json, field, message);
  }
  return path_.Refuse(json, ExpectedEntry(field));
}

absl::Status JsonMessageParser::ParseInteger(const JsonValue& json,
                                             const FieldDescriptor* field,
                                             Message* message) {
  const Reflection& to = *message->GetReflection();
  const bool adds = field->is_repeated();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_UINT32: {
      const auto value = ToInteger<uint32_t>(json);
      if (!value.has_value()) break;
      adds ? to.AddUInt32(message, field, *value)
           : to.SetUInt32(message, field, *value);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_INT32: {
      const auto value = ToInteger<int32_t>(json);
      if (!value.has_value()) break;
      adds ? to.AddInt32(message, field, *value)
           : to.SetInt32(message, field, *value);
      return absl::OkStatus();
    }
    case FieldDescriptor::CPPTYPE_UINT64: {
      const auto value = ToInteger<uint64_t>(json);
      if (!value.has_value()) break;
      adds ? to.AddUInt64(message, field, *value)
           : to.SetUInt64(message, field, *value);
      return absl::OkStatus();
    }
    default: {
      const auto value = ToInteger<int64_t>(json);
      if (!value.has_value()) break;
      adds ? to.AddInt64(message, field, *value)
           : to.SetInt64(message, field, *value);
      return absl::OkStatus();
    }
  }
  return path_.Refuse(json, ExpectedEntry(field));
}

absl::Status JsonMessageParser::ParseEnum(const JsonValue& json,
                                          const FieldDescriptor* field,
                                          Message* message) {
  const google::protobuf::EnumValueDescriptor* value = nullptr;
  if (json.IsString()) {
    value = field->enum_type()->FindValueByName(std::string(TextOf(json)));
  } else if (json.IsInt()) {
    value = field->enum_type()->FindValueByNumber(json.GetInt());
  }
  if (value == nullptr) return path_.Refuse(json, ExpectedEntry(field));
  const Reflection& to = *message->GetReflection();
  field->is_repeated() ? to.AddEnum(message, field, value)
                       : to.SetEnum(message, field, value);
  return absl::OkStatus();
}

absl::Status JsonMessageParser::ParseListForm(const JsonValue& json,
                                              Message* message) {
  const Descriptor* const type = message->GetDescriptor();
  if (type == v1::Candidates::descriptor()) {
    return ParseCandidateList(json, message);
  }
  if (type == v1::ReportFeedbackRequest::descriptor()) {
    auto* const request =
        DynamicCastToGenerated<v1::ReportFeedbackRequest>(message);
    for (rapidjson::SizeType i = 0; i < json.Size(); ++i) {
      const JsonPath::Scope scope(&path_, i);
      if (i == 0) {
        // "[0]" or "calls[2].request[0]": what is before the number.
        const std::string first = path_.Text();
        NoteName("feedback[", first.substr(0, first.size() - 2));
      }
      RETURN_IF_ERROR(ParseShortFeedback(json[i], request->add_feedback()));
    }
    return absl::OkStatus();
  }
  if (const FieldDescriptor* const list = ListFieldOf(type)) {
    RETURN_IF_ERROR(ParseList(json, list, message));
    return Complete(message);
  }
  return RefuseMessage(json, *type);
}

absl::Status JsonMessageParser::ParseCandidateList(const JsonValue& json,
                                                   Message* message) {
  auto* const candidates = DynamicCastToGenerated<v1::Candidates>(message);
  if (json.Empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        path_.Text(), " is an empty list: must have an entry per candidate"));
  }
  if (!json[0].IsArray()) {
    NoteName("context.candidates.columns", path_.Text());
    return AddRows(json, types(), &path_, candidates->mutable_columns());
  }
  NoteName("context.candidates.num_features",
           absl::StrCat("the length of the rows of ", path_.Text()));
  NoteName("context.candidates.dense", path_.Text());
  v1::DenseFeatures* const dense = candidates->mutable_dense();
  RETURN_IF_ERROR(ParseRows(
      json, v1::DenseFeatures::descriptor()->FindFieldByName("values"), dense));
  return Complete(candidates);
}

absl::Status JsonMessageParser::ParseRows(const JsonValue& rows,
                                          const FieldDescriptor* field,
                                          Message* message) {
  const bool are_sets =
      message->GetDescriptor() == v1::CategorySets::descriptor();
  const rapidjson::SizeType size = rows[0].Size();
  if (are_sets) {
    DynamicCastToGenerated<v1::CategorySets>(message)->add_offsets(0);
  }
  for (rapidjson::SizeType i = 0; i < rows.Size(); ++i) {
    const JsonPath::Scope scope(&path_, i);
    if (!rows[i].IsArray()) {
      return path_.Refuse(rows[i], "a list, as the first entry is one");
    }
    if (are_sets) {
      for (rapidjson::SizeType j = 0; j < rows[i].Size(); ++j) {
        const JsonPath::Scope in_set(&path_, j);
        RETURN_IF_ERROR(ParseValue(rows[i][j], field, message));
      }
      auto* const sets = DynamicCastToGenerated<v1::CategorySets>(message);
      sets->add_offsets(static_cast<uint32_t>(sets->values_size()));
      continue;
    }
    if (rows[i].Size() != size || size == 0) {
      return absl::InvalidArgumentError(absl::StrCat(
          path_.Text(), " has ", rows[i].Size(), " numbers: must have ",
          size == 0 ? "at least 1" : absl::StrCat(size, ", as the first row")));
    }
    RETURN_IF_ERROR(ParseFloats(rows[i], field, /*are_finite=*/true, message));
  }
  if (message->GetDescriptor() == v1::Vectors::descriptor()) {
    DynamicCastToGenerated<v1::Vectors>(message)->set_size(size);
  } else if (!are_sets) {
    row_size_ = size;
  }
  return absl::OkStatus();
}

absl::Status JsonMessageParser::ParseNamedColumns(const JsonValue& json,
                                                  const FieldDescriptor* field,
                                                  Message* message) {
  auto* const columns = DynamicCastToGenerated<v1::Columns>(message);
  if (field->name() == "query") {
    return AddQueryValues(json, types(), &path_, columns);
  }
  for (const auto& member : json.GetObject()) {
    if (member.value.IsArray()) continue;
    const JsonPath::Scope scope(&path_, TextOf(member.name));
    return path_.Refuse(member.value, "a list with a value per candidate");
  }
  return AddLists(json, types(), &path_, columns);
}

absl::Status JsonMessageParser::ParseShortFeedback(const JsonValue& json,
                                                   Message* message) {
  if (!json.IsObject()) {
    return RefuseMessage(json, *message->GetDescriptor());
  }
  RETURN_IF_ERROR(ParseFields(json, message));
  auto* const feedback = DynamicCastToGenerated<v1::Feedback>(message);
  if (feedback->feedback_id().empty()) {
    feedback->set_feedback_id(FeedbackIdOf(*feedback));
  }
  return absl::OkStatus();
}

absl::Status JsonMessageParser::Complete(Message* message) {
  if (message->GetDescriptor() == v1::Candidates::descriptor()) {
    auto* const candidates = DynamicCastToGenerated<v1::Candidates>(message);
    if (!row_size_.has_value()) return absl::OkStatus();
    if (candidates->num_features() == 0) {
      candidates->set_num_features(*row_size_);
    } else if (candidates->num_features() != *row_size_) {
      return absl::InvalidArgumentError(absl::StrCat(
          path_.TextOfField("num_features"), " = ", candidates->num_features(),
          ": must be ", *row_size_, ", the length of the rows, or absent"));
    }
  } else if (message->GetDescriptor() == v1::Columns::descriptor()) {
    auto* const columns = DynamicCastToGenerated<v1::Columns>(message);
    if (columns->num_candidates() == 0 && !columns->candidate().empty()) {
      columns->set_num_candidates(
          static_cast<uint32_t>(NumValues(columns->candidate(0))));
    }
  }
  return absl::OkStatus();
}

}  // namespace sortition
