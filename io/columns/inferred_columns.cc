#include "io/columns/inferred_columns.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "core/base/status_macros.h"
#include "core/features/schema/bound_columns.h"
#include "core/features/schema/schema.h"
#include "core/features/suggest/column_profile.h"
#include "io/columns/csv_cell.h"
#include "io/columns/query_builder.h"
#include "io/text/csv_record.h"
#include "io/text/input_lines.h"
#include "io/text/json_line.h"
#include "io/text/parse_number.h"

namespace sortition {
namespace {

using model::v1::ColumnSchema;

constexpr uint32_t kMostVectorSize = 4096;

bool IsPlainNumber(absl::string_view cell) {
  double number = 0;
  if (!ParseNumber(cell, &number) || !std::isfinite(number)) return false;
  // 007 and 01234 are keys whose zeros matter.
  if (cell[0] == '-' || cell[0] == '+') cell.remove_prefix(1);
  return cell.size() < 2 || cell[0] != '0' ||
         !absl::ascii_isdigit(static_cast<unsigned char>(cell[1]));
}

// Returns how many numbers with spaces between a cell has; 0 if it has others.
uint32_t VectorSize(absl::string_view cell) {
  uint32_t size = 0;
  for (const absl::string_view text :
       absl::StrSplit(cell, ' ', absl::SkipEmpty())) {
    float number = 0;
    if (!ParseNumber(text, &number) || !std::isfinite(number)) return 0;
    ++size;
  }
  return size <= kMostVectorSize ? size : 0;
}

bool IsSet(absl::string_view cell) {
  const std::vector<absl::string_view> values =
      absl::StrSplit(cell, kSetSeparator);
  const std::set<absl::string_view> distinct(values.begin(), values.end());
  return values.size() == distinct.size() && values.size() <= kMostSetValues &&
         std::all_of(values.begin(), values.end(), [](absl::string_view value) {
           return !value.empty() && value.size() <= kMostCategoryBytes;
         });
}

// The strings of one column.
class Strings {
 public:
  void Add(absl::string_view value) {
    ++count_;
    longest_ = std::max(longest_, value.size());
    distinct_.Add(value);
  }

  bool is_text() const {
    constexpr double kWordsOfText = 3;
    // Titles and searches are short; names of cities and brands are few.
    constexpr double kWordsOfTitle = 1.5;
    constexpr double kMostNames = 100;
    if (longest_ > kMostCategoryBytes) return true;
    double words = 0;
    for (const auto& [hash, value] : distinct_.values()) {
      words +=
          static_cast<double>(std::count(value.begin(), value.end(), ' ') + 1);
    }
    const auto n = static_cast<double>(distinct_.values().size());
    return words >= kWordsOfText * n ||
           (words >= kWordsOfTitle * n && distinct_.Estimate() > kMostNames);
  }

 private:
  uint64_t count_ = 0;
  size_t longest_ = 0;
  DistinctSample distinct_;
};

// Adds a column that may be absent, or the reason why it is left out.
void AddColumn(const std::string& name, ColumnSchema::Type type,
               ColumnSchema::Scope scope, uint32_t size,
               InferredColumns* result) {
  model::v1::Schema alone;
  ColumnSchema& column = *alone.add_column();
  column.set_name(name);
  column.set_type(type);
  column.set_scope(scope);
  column.set_size(size);
  column.set_missing(true);
  if (!Schema::Create(alone).ok()) {
    result->left_out.emplace_back(
        name,
        absl::StrCat("names of columns have 1 to ", Schema::kMostNameBytes,
                     " bytes, without white space and , ( ) ~ ^ * # ="));
  } else if (result->schema.column_size() == Schema::kMostColumns) {
    result->left_out.emplace_back(
        name,
        absl::StrCat("beyond the first ", Schema::kMostColumns, " columns"));
  } else {
    *result->schema.add_column() = column;
  }
}

// A column of CSV.
struct CsvField {
  std::string name;
  uint64_t num_values = 0;
  uint64_t num_barred = 0;  // Values with a separator of sets.
  bool are_numbers = true;
  bool are_sets = true;
  uint32_t vector_size = 0;  // 0: no vectors.
  Strings strings;
  std::string first;  // Of the query.
  bool is_of_query = true;

  void Add(absl::string_view cell) {
    if (cell.empty()) return;
    are_numbers = are_numbers && IsPlainNumber(cell);
    const uint32_t size = VectorSize(cell);
    vector_size = num_values == 0 || vector_size == size ? size : 0;
    are_sets = are_sets && IsSet(cell);
    num_barred += absl::StrContains(cell, kSetSeparator) ? 1 : 0;
    strings.Add(cell);
    ++num_values;
  }

  ColumnSchema::Type type() const {
    constexpr uint64_t kSomeSets = 50;  // One in so many values.
    if (are_numbers) return ColumnSchema::NUMBER;
    if (vector_size > 1) return ColumnSchema::VECTOR;
    if (are_sets && num_barred * kSomeSets > num_values) {
      return ColumnSchema::CATEGORY_SET;
    }
    return strings.is_text() ? ColumnSchema::TEXT : ColumnSchema::CATEGORY;
  }
};

class CsvColumns {
 public:
  explicit CsvColumns(const LabelledNames& names) : names_(names) {}

  absl::Status Add(const InputLine& line) {
    RETURN_IF_ERROR(SplitCsvRecord(line, &cells_));
    if (fields_.empty()) return TakeHeader();
    if (cells_.size() != fields_.size()) {
      return absl::InvalidArgumentError(
          absl::StrCat("has ", cells_.size(), " fields, must have ",
                       fields_.size(), ", as the header"));
    }
    const bool is_new = num_lines_++ == 0 || cells_[query_] != id_;
    id_ = std::string(cells_[query_]);
    has_pairs_ = has_pairs_ || !is_new;
    for (size_t i = 0; i < fields_.size(); ++i) {
      CsvField& field = fields_[i];
      field.Add(cells_[i]);
      if (is_new) {
        field.first = std::string(cells_[i]);
      } else {
        field.is_of_query = field.is_of_query && field.first == cells_[i];
      }
    }
    return absl::OkStatus();
  }

  InferredColumns Finish() const {
    InferredColumns result;
    for (size_t i = 0; i < fields_.size(); ++i) {
      const CsvField& field = fields_[i];
      if (field.name == names_.label || field.name == names_.id ||
          (i == query_ && field.type() != ColumnSchema::TEXT)) {
        continue;
      }
      if (field.num_values == 0) {
        result.left_out.emplace_back(field.name, "has no value");
        continue;
      }
      const ColumnSchema::Type type = field.type();
      AddColumn(field.name, type,
                has_pairs_ && field.is_of_query ? ColumnSchema::QUERY
                                                : ColumnSchema::CANDIDATE,
                type == ColumnSchema::VECTOR ? field.vector_size : 0, &result);
    }
    return result;
  }

 private:
  absl::Status TakeHeader() {
    bool has_query = false;
    for (const absl::string_view cell : cells_) {
      if (cell == names_.query) {
        query_ = fields_.size();
        has_query = true;
      }
      fields_.emplace_back().name = std::string(cell);
    }
    if (has_query) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("the header has no column '", names_.query, "'"));
  }

  const LabelledNames names_;
  std::vector<absl::string_view> cells_;
  std::vector<CsvField> fields_;
  size_t query_ = 0;
  std::string id_;
  uint64_t num_lines_ = 0;
  bool has_pairs_ = false;  // Some query has two lines.
};

// A column of JSON.
struct JsonField {
  std::map<std::string, uint64_t> kinds;  // Number of values.
  std::set<uint32_t> sizes;               // Of arrays of numbers.
  Strings strings;
  std::set<ColumnSchema::Scope> scopes;

  void Add(const JsonValue& value) {
    if (value.IsNull()) return;
    if (value.IsArray()) return AddArray(value);
    if (IsNumber(value)) {
      ++kinds["numbers"];
    } else if (IsText(value)) {
      ++kinds["strings"];
      strings.Add(TextOf(value));
    } else {
      ++kinds[value.IsBool() ? "true or false" : "objects"];
    }
  }

  void AddArray(const JsonValue& value) {
    if (value.Empty()) return;
    const auto all = [&](bool (*is)(const JsonValue&)) {
      return std::all_of(value.Begin(), value.End(), is);
    };
    if (all(IsText)) {
      ++kinds["arrays of strings"];
    } else if (all(IsNumber)) {
      ++kinds["arrays of numbers"];
      sizes.insert(value.Size());
    } else {
      ++kinds["arrays of several types"];
    }
  }
};

class JsonColumns {
 public:
  explicit JsonColumns(const LabelledNames& names) : names_(names) {}

  absl::Status Add(const InputLine& line) {
    if (line.size == 0) return absl::OkStatus();
    ASSIGN_OR_RETURN(const JsonValue* const object, json_.Parse(line));
    if (const JsonValue* const query = FindMember(*object, "query")) {
      AddObject(*query, ColumnSchema::QUERY);
    }
    const JsonValue* const candidates = FindMember(*object, "candidates");
    if (candidates == nullptr || !candidates->IsArray()) {
      return absl::InvalidArgumentError(
          "candidates must be there, an array of objects");
    }
    for (const JsonValue& candidate : candidates->GetArray()) {
      AddObject(candidate, ColumnSchema::CANDIDATE);
    }
    return absl::OkStatus();
  }

  InferredColumns Finish() const {
    InferredColumns result;
    for (const auto& [name, field] : fields_) {
      const std::string reason = ReasonToLeaveOut(field);
      if (!reason.empty()) {
        result.left_out.emplace_back(name, reason);
        continue;
      }
      const ColumnSchema::Type type = TypeOf(field);
      AddColumn(name, type, *field.scopes.begin(),
                type == ColumnSchema::VECTOR ? *field.sizes.begin() : 0,
                &result);
    }
    return result;
  }

 private:
  void AddObject(const JsonValue& object, ColumnSchema::Scope scope) {
    if (!object.IsObject()) return;  // The reader reports it.
    for (const auto& member : object.GetObject()) {
      const std::string name(TextOf(member.name));
      if (scope == ColumnSchema::CANDIDATE &&
          (name == names_.label || name == names_.id)) {
        continue;
      }
      JsonField& field = fields_[name];
      field.scopes.insert(scope);
      field.Add(member.value);
    }
  }

  static std::string ReasonToLeaveOut(const JsonField& field) {
    if (field.kinds.empty()) return "has no value";
    if (field.scopes.size() > 1) {
      return "is of the query in some lines and of candidates in others";
    }
    if (field.kinds.size() > 1) {
      return absl::StrCat("its type changes: ",
                          absl::StrJoin(field.kinds, ", ",
                                        [](std::string* out, const auto& each) {
                                          absl::StrAppend(out, each.second, " ",
                                                          each.first);
                                        }));
    }
    const std::string& kind = field.kinds.begin()->first;
    if (kind == "arrays of numbers" &&
        (field.sizes.size() > 1 || *field.sizes.begin() > kMostVectorSize)) {
      return "arrays of numbers, which must all have one size of at most 4096";
    }
    if (kind == "numbers" || kind == "strings" || kind == "arrays of strings" ||
        kind == "arrays of numbers") {
      return "";
    }
    return absl::StrCat("holds ", kind,
                        ": must be numbers, strings, or arrays of either");
  }

  static ColumnSchema::Type TypeOf(const JsonField& field) {
    const std::string& kind = field.kinds.begin()->first;
    if (kind == "numbers") return ColumnSchema::NUMBER;
    if (kind == "arrays of strings") return ColumnSchema::CATEGORY_SET;
    if (kind == "arrays of numbers") return ColumnSchema::VECTOR;
    return field.strings.is_text() ? ColumnSchema::TEXT
                                   : ColumnSchema::CATEGORY;
  }

  const LabelledNames names_;
  JsonLine json_;
  std::map<std::string, JsonField> fields_;
};

template <typename FileColumns>
absl::StatusOr<InferredColumns> InferFromLines(const std::string& path,
                                               bool quoted,
                                               FileColumns columns) {
  ASSIGN_OR_RETURN(const auto lines, InputLines::Open(path, quoted));
  InputLine line;
  while (true) {
    ASSIGN_OR_RETURN(const bool more, lines->Next(&line));
    if (!more) return columns.Finish();
    RETURN_IF_ERROR(AtLine(columns.Add(line), path, line.number));
  }
}

}  // namespace

absl::StatusOr<InferredColumns> InferColumns(const std::string& path,
                                             const LabelledNames& names) {
  if (absl::EndsWith(path, ".csv")) {
    return InferFromLines(path, true, CsvColumns(names));
  }
  if (absl::EndsWith(path, ".jsonl")) {
    return InferFromLines(path, false, JsonColumns(names));
  }
  if (!absl::EndsWith(path, ".tsv")) {
    return absl::InvalidArgumentError(absl::StrCat(
        "file '", path,
        "' must end in .tsv, .csv or .jsonl: features are made of columns"));
  }
  InferredColumns result;
  AddColumn("question", ColumnSchema::TEXT, ColumnSchema::QUERY, 0, &result);
  AddColumn("sentence", ColumnSchema::TEXT, ColumnSchema::CANDIDATE, 0,
            &result);
  return result;
}

}  // namespace sortition
