#include "server/http/json/json_names.h"

#include <algorithm>
#include <deque>
#include <iterator>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "core/base/nearest_name.h"
#include "sortition/v1/columns.pb.h"
#include "sortition/v1/http.pb.h"
#include "sortition/v1/ranking.pb.h"

namespace sortition {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;

// Returns the name without what spellings differ in.
std::string Normalised(absl::string_view name) {
  std::string text;
  for (const char c : name) {
    if (c != '_' && c != '-' && c != ' ') text += absl::ascii_tolower(c);
  }
  return text;
}

// Returns the name of the field of `type` that is most similar to `key`; empty:
// none is similar.
std::string NearestField(const Descriptor& type, absl::string_view key) {
  const std::string wanted = Normalised(key);
  std::string nearest;
  // A third of the letters: "rating" is not "rank".
  size_t best = std::max<size_t>(wanted.size() / 3, 1) + 1;
  for (int i = 0; i < type.field_count(); ++i) {
    const std::string& name = type.field(i)->name();
    const std::string known = Normalised(name);
    size_t distance = EditDistance(wanted, known);
    // One is a part of the other: "k" of "top_k", "unit" of "unit_id".
    if (absl::EndsWith(name, absl::StrCat("_", key)) ||
        absl::StartsWith(name, absl::StrCat(key, "_")) ||
        absl::EndsWith(key, absl::StrCat("_", name))) {
      distance = std::min<size_t>(distance, 1);
    }
    if (distance < best) {
      best = distance;
      nearest = name;
    }
  }
  return nearest;
}

// Returns the path of the field named like `key` that is nearest to the root;
// empty: there is none.
std::string FindElsewhere(const Descriptor& root, absl::string_view key) {
  constexpr size_t kMaxDepth = 5;
  struct Part {
    const Descriptor* type;
    std::string prefix;
    size_t depth;
  };
  const std::string wanted = Normalised(key);
  std::deque<Part> parts = {{&root, "", 0}};
  for (; !parts.empty(); parts.pop_front()) {
    const Part part = parts.front();
    for (int i = 0; i < part.type->field_count(); ++i) {
      const FieldDescriptor* const field = part.type->field(i);
      std::string path = absl::StrCat(part.prefix, field->name());
      if (Normalised(field->name()) == wanted) return path;
      if (field->message_type() != nullptr && !field->is_map() &&
          part.depth < kMaxDepth) {
        parts.push_back({field->message_type(),
                         absl::StrCat(path, field->is_repeated() ? "[]." : "."),
                         part.depth + 1});
      }
    }
  }
  return "";
}

std::string OneValueText(const FieldDescriptor* field) {
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return "true or false, without quotes";
    case FieldDescriptor::CPPTYPE_UINT32:
      return "a whole number in [0, 4294967295]";
    case FieldDescriptor::CPPTYPE_INT32:
      return "a whole number in [-2147483648, 2147483647]";
    case FieldDescriptor::CPPTYPE_UINT64:
      return "a whole number in [0, 18446744073709551615]";
    case FieldDescriptor::CPPTYPE_INT64:
      return "a whole number in [-9223372036854775808, 9223372036854775807]";
    case FieldDescriptor::CPPTYPE_FLOAT:
      return "a number in [-3.4028235e38, 3.4028235e38]";
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return "a number";
    case FieldDescriptor::CPPTYPE_ENUM: {
      std::vector<std::string> names;
      const auto* const type = field->enum_type();
      for (int i = 0; i < type->value_count(); ++i) {
        names.push_back(absl::StrCat("\"", type->value(i)->name(), "\""));
      }
      return absl::StrCat("one of ", absl::StrJoin(names, ", "));
    }
    case FieldDescriptor::CPPTYPE_STRING:
      return field->type() == FieldDescriptor::TYPE_BYTES
                 ? "a text of base64"
                 : "a text in double quotes";
    case FieldDescriptor::CPPTYPE_MESSAGE:
      break;
  }
  return "an object";
}

// Returns "texts" for a field that is a list of texts.
std::string SeveralText(const FieldDescriptor* field) {
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return "true and false";
    case FieldDescriptor::CPPTYPE_STRING:
      return "texts";
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return "objects";
    case FieldDescriptor::CPPTYPE_ENUM:
      return "names";
    default:
      return "numbers";
  }
}

}  // namespace

const FieldDescriptor* FindJsonField(const Descriptor& type,
                                     absl::string_view key) {
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor* const field = type.field(i);
    if (key == absl::string_view(field->name()) ||
        key == absl::string_view(field->json_name())) {
      return field;
    }
  }
  if (key == "id" && (&type == v1::Feedback::descriptor() ||
                      &type == v1::ReportShownRequest::descriptor())) {
    return type.FindFieldByName("decision_id");
  }
  return nullptr;
}

std::string Expected(const FieldDescriptor* field) {
  return field->is_repeated() ? absl::StrCat("a list of ", SeveralText(field))
                              : OneValueText(field);
}

std::string ExpectedEntry(const FieldDescriptor* field) {
  return field->is_repeated()
             ? absl::StrCat(OneValueText(field), ", as an entry of a list of ",
                            SeveralText(field))
             : OneValueText(field);
}

bool TakesRows(const FieldDescriptor* field) {
  const Descriptor* const type = field->containing_type();
  return field->name() == "values" &&
         (type == v1::DenseFeatures::descriptor() ||
          type == v1::Vectors::descriptor() ||
          type == v1::CategorySets::descriptor());
}

std::string FieldNames(const google::protobuf::OneofDescriptor& choice) {
  std::vector<std::string> names;
  for (int i = 0; i < choice.field_count(); ++i) {
    names.push_back(choice.field(i)->name());
  }
  return absl::StrJoin(names, ", ");
}

absl::string_view ChosenKey(
    absl::Span<const std::pair<const FieldDescriptor*, absl::string_view>> seen,
    const google::protobuf::OneofDescriptor* choice) {
  for (const auto& [field, key] : seen) {
    if (field->containing_oneof() == choice) return key;
  }
  return "";
}

std::string NameHint(const Descriptor& root, const Descriptor& type,
                     const JsonPath& path, absl::string_view key) {
  // Other rerankers, and this server's own calls, have other names.
  constexpr absl::string_view kDocuments[] = {"candidates", "docs", "items",
                                              "passages"};
  if (&type == v1::RerankRequest::descriptor() &&
      std::find(std::begin(kDocuments), std::end(kDocuments), key) !=
          std::end(kDocuments)) {
    return "did you mean \"documents\"?";
  }
  if (const std::string near = NearestField(type, key); !near.empty()) {
    return absl::StrCat("did you mean \"", path.TextOfField(near), "\"?");
  }
  if (const std::string place = FindElsewhere(root, key); !place.empty()) {
    return absl::StrCat("did you mean \"", place, "\"?");
  }
  std::vector<std::string> names;
  for (int i = 0; i < type.field_count(); ++i) {
    names.push_back(type.field(i)->name());
  }
  return absl::StrCat("must be one of ", absl::StrJoin(names, ", "),
                      SuchAs(type));
}

std::string SuchAs(const Descriptor& type) {
  constexpr absl::string_view kRank =
      R"({"context": {"candidates": [{"title": "a"}, {"title": "b"}]}})";
  const std::pair<const Descriptor*, absl::string_view> examples[] = {
      {v1::RankRequest::descriptor(), kRank},
      {v1::SelectRequest::descriptor(), kRank},
      {v1::LabelRequest::descriptor(), kRank},
      {v1::AggregateRequest::descriptor(),
       R"({"context": {"candidates": [[0.9, 0.1], [0.2, 0.7]]}})"},
      {v1::RerankRequest::descriptor(),
       R"({"query": "q", "documents": ["a", "b"]})"},
      {v1::ReportShownRequest::descriptor(),
       R"({"decision_id": "d", "shown": [2, 0, 1]})"},
      {v1::ReportFeedbackRequest::descriptor(),
       R"({"decision_id": "d", "index": 0, "reward": 1})"},
      {v1::Feedback::descriptor(),
       R"({"decision_id": "d", "index": 0, "reward": 1})"},
      {v1::BatchRequest::descriptor(),
       R"({"calls": [{"method": "rank", "request": {}}]})"},
      {v1::BatchRequest::Call::descriptor(),
       R"({"method": "rank", "request": {}})"},
      {v1::DecisionContext::descriptor(),
       R"({"candidates": [{"title": "a"}, {"title": "b"}]})"},
      {v1::Candidates::descriptor(), R"([{"title": "a"}, {"title": "b"}])"},
      {v1::Baseline::descriptor(), R"({"action": [1, 0]})"}};
  for (const auto& [known, example] : examples) {
    if (known == &type) return absl::StrCat(", such as ", example);
  }
  return "";
}

}  // namespace sortition
