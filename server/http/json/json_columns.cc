#include "server/http/json/json_columns.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "core/features/schema/bound_columns.h"
#include "core/features/schema/schema.h"

namespace sortition {
namespace {

using model::v1::ColumnSchema;

// Bounds the memory that a short body can claim by fields that few of its
// objects have.
constexpr size_t kMaxColumns = 1000;
constexpr size_t kMaxCells = size_t{1} << 20;

// Returns the place of row `row`.
using PlaceOfRow = absl::FunctionRef<std::string(size_t row)>;

absl::Status Misfit(const std::string& place, const JsonValue& cell,
                    absl::string_view must_be) {
  return absl::InvalidArgumentError(
      absl::StrCat(place, ShownValue(cell), ": must be ", must_be));
}

// Checks the bytes of a text, a category, or a category of a set.
absl::Status CheckTextSize(const std::string& place, absl::string_view text,
                           ColumnSchema::Type type) {
  const size_t max_bytes =
      type == ColumnSchema::TEXT ? kMostTextBytes : kMostCategoryBytes;
  if (text.size() > max_bytes) {
    return absl::InvalidArgumentError(absl::StrCat(
        place, " has ", text.size(), " bytes: must have at most ", max_bytes));
  }
  if (type != ColumnSchema::TEXT && text.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        place, " = \"\": must have 1 to ", max_bytes,
        " bytes; leave it out, or write null, where the value is missing"));
  }
  return absl::OkStatus();
}

// Returns the type that a value has by itself; TYPE_UNSPECIFIED: an empty list,
// or none.
ColumnSchema::Type KindOf(const JsonValue& cell) {
  if (cell.IsNumber() || cell.IsBool()) return ColumnSchema::NUMBER;
  if (cell.IsString()) return ColumnSchema::TEXT;
  if (!cell.IsArray() || cell.Empty()) return ColumnSchema::TYPE_UNSPECIFIED;
  return cell[0].IsNumber() ? ColumnSchema::VECTOR : ColumnSchema::CATEGORY_SET;
}

const char* Expectation(ColumnSchema::Type type) {
  switch (type) {
    case ColumnSchema::NUMBER:
      return "a number, true, false or null";
    case ColumnSchema::CATEGORY_SET:
      return "a list of texts, or null";
    case ColumnSchema::VECTOR:
      return "a list of numbers, or null";
    default:
      return "a text or null";
  }
}

// A column under construction. A cell that is null is missing.
struct JsonCells {
  absl::string_view name;
  std::vector<const JsonValue*> cells;
};

class ColumnFiller {
 public:
  ColumnFiller(const JsonCells& cells, const ColumnTypes& types,
               PlaceOfRow place)
      : cells_(cells), place_(place) {
    const auto declared = types.find(cells.name);
    is_declared_ = declared != types.end();
    type_ = is_declared_ ? declared->second : InferredType();
  }

  // Adds the column to `columns`, unless it is not known what it holds.
  absl::Status AddTo(google::protobuf::RepeatedPtrField<v1::Column>* columns) {
    if (type_ == ColumnSchema::TYPE_UNSPECIFIED ||
        (type_ == ColumnSchema::VECTOR && !SetVectorSize())) {
      return absl::OkStatus();
    }
    v1::Column* const column = columns->Add();
    column->set_name(std::string(cells_.name));
    Declare(column);
    for (size_t row = 0; row < cells_.cells.size(); ++row) {
      const JsonValue* const cell = cells_.cells[row];
      if (cell == nullptr || cell->IsNull()) {
        column->add_missing(static_cast<uint32_t>(row));
        AddMissing(column);
      } else {
        RETURN_IF_ERROR(AddCell(*cell, row, column));
      }
    }
    return absl::OkStatus();
  }

 private:
  // Returns the kind of the first value that shows one. A column of empty lists
  // alone holds sets.
  ColumnSchema::Type InferredType() const {
    ColumnSchema::Type type = ColumnSchema::TYPE_UNSPECIFIED;
    for (const JsonValue* const cell : cells_.cells) {
      if (cell == nullptr || cell->IsNull()) continue;
      if (cell->IsObject()) return ColumnSchema::TEXT;  // AddCell() refuses it.
      const ColumnSchema::Type kind = KindOf(*cell);
      if (kind != ColumnSchema::TYPE_UNSPECIFIED) return kind;
      type = ColumnSchema::CATEGORY_SET;
    }
    return type;
  }

  // Returns false if no row has a vector.
  bool SetVectorSize() {
    for (const JsonValue* const cell : cells_.cells) {
      if (cell == nullptr || cell->IsNull()) continue;
      size_ = cell->IsArray() ? cell->Size() : 0;
      return true;
    }
    return false;
  }

  // Makes the column one of its type, also where all values are missing.
  void Declare(v1::Column* column) const {
    switch (type_) {
      case ColumnSchema::NUMBER:
        column->mutable_numbers();
        break;
      case ColumnSchema::CATEGORY:
        column->mutable_categories();
        break;
      case ColumnSchema::CATEGORY_SET:
        column->mutable_category_sets()->add_offsets(0);
        break;
      case ColumnSchema::VECTOR:
        column->mutable_vectors()->set_size(static_cast<uint32_t>(size_));
        break;
      default:
        column->mutable_texts();
    }
  }

  void AddMissing(v1::Column* column) const {
    switch (type_) {
      case ColumnSchema::NUMBER:
        column->mutable_numbers()->add_values(0);
        break;
      case ColumnSchema::CATEGORY:
        column->mutable_categories()->add_values("");
        break;
      case ColumnSchema::CATEGORY_SET:
        EndSet(column->mutable_category_sets());
        break;
      case ColumnSchema::VECTOR:
        for (size_t i = 0; i < size_; ++i) {
          column->mutable_vectors()->add_values(0);
        }
        break;
      default:
        column->mutable_texts()->add_values("");
    }
  }

  static void EndSet(v1::CategorySets* sets) {
    sets->add_offsets(static_cast<uint32_t>(sets->values_size()));
  }

  absl::Status AddCell(const JsonValue& cell, size_t row, v1::Column* column) {
    switch (type_) {
      case ColumnSchema::NUMBER:
        if (!cell.IsNumber() && !cell.IsBool()) break;
        column->mutable_numbers()->add_values(
            cell.IsBool() ? (cell.GetBool() ? 1 : 0) : cell.GetDouble());
        return absl::OkStatus();
      case ColumnSchema::CATEGORY_SET:
        if (!cell.IsArray()) break;
        return AddSet(cell, row, column->mutable_category_sets());
      case ColumnSchema::VECTOR:
        if (!cell.IsArray()) break;
        return AddVector(cell, row, column->mutable_vectors());
      case ColumnSchema::CATEGORY:
        return AddText(cell, row,
                       column->mutable_categories()->mutable_values());
      default:
        return AddText(cell, row, column->mutable_texts()->mutable_values());
    }
    return Refuse(cell, row);
  }

  // A declared type also takes what has one way to be a text.
  absl::Status AddText(const JsonValue& cell, size_t row,
                       google::protobuf::RepeatedPtrField<std::string>* texts) {
    if (cell.IsString()) {
      RETURN_IF_ERROR(CheckTextSize(place_(row), TextOf(cell), type_));
      *texts->Add() = std::string(TextOf(cell));
    } else if (is_declared_ && IsInteger(cell)) {
      *texts->Add() = IntegerText(cell);
    } else if (is_declared_ && cell.IsBool()) {
      *texts->Add() = cell.GetBool() ? "true" : "false";
    } else {
      return Refuse(cell, row);
    }
    return absl::OkStatus();
  }

  absl::Status AddSet(const JsonValue& cell, size_t row,
                      v1::CategorySets* sets) {
    absl::flat_hash_set<absl::string_view> seen;
    for (rapidjson::SizeType i = 0; i < cell.Size(); ++i) {
      if (!cell[i].IsString()) {
        return Misfit(absl::StrCat(place_(row), "[", i, "]"), cell[i],
                      "a text, as an entry of a list of texts");
      }
      RETURN_IF_ERROR(CheckTextSize(absl::StrCat(place_(row), "[", i, "]"),
                                    TextOf(cell[i]), type_));
      if (seen.insert(TextOf(cell[i])).second) {
        sets->add_values(std::string(TextOf(cell[i])));
      }
    }
    if (seen.size() > kMostSetValues) {
      return absl::InvalidArgumentError(
          absl::StrCat(place_(row), " has ", seen.size(),
                       " different texts: must have at most ", kMostSetValues));
    }
    EndSet(sets);
    return absl::OkStatus();
  }

  absl::Status AddVector(const JsonValue& cell, size_t row,
                         v1::Vectors* vectors) {
    if (cell.Empty() || cell.Size() > Schema::kMaxVectorSize) {
      return absl::InvalidArgumentError(
          absl::StrCat(place_(row), " has ", cell.Size(),
                       " numbers: must have 1 to ", Schema::kMaxVectorSize));
    }
    if (cell.Size() != size_) {
      return absl::InvalidArgumentError(absl::StrCat(
          place_(row), " has ", cell.Size(), " numbers: must have ", size_,
          ", as the others of this field have"));
    }
    for (rapidjson::SizeType i = 0; i < cell.Size(); ++i) {
      if (!cell[i].IsNumber() || !(std::abs(cell[i].GetDouble()) <=
                                   std::numeric_limits<float>::max())) {
        return Misfit(absl::StrCat(place_(row), "[", i, "]"), cell[i],
                      "a number that 32 bits hold, as an entry of a list of "
                      "numbers");
      }
      vectors->add_values(static_cast<float>(cell[i].GetDouble()));
    }
    return absl::OkStatus();
  }

  absl::Status Refuse(const JsonValue& cell, size_t row) const {
    return Misfit(
        place_(row), cell,
        absl::StrCat(
            Expectation(type_),
            is_declared_ ? absl::StrCat("; the schema of the model declares it "
                                        "as ",
                                        ColumnSchema::Type_Name(type_))
            : cell.IsObject() ? "; give its fields as fields of their own"
                              : ", as the other values of this field"));
  }

  const JsonCells& cells_;
  const PlaceOfRow place_;
  bool is_declared_ = false;
  ColumnSchema::Type type_ = ColumnSchema::TYPE_UNSPECIFIED;
  size_t size_ = 0;  // Numbers in each vector.
};

absl::Status TooManyCells(const JsonPath& path, size_t columns, size_t rows) {
  return absl::InvalidArgumentError(absl::StrCat(
      path.Text(), " has ", columns, " different fields and ", rows,
      " entries: must have at most ", kMaxColumns, " fields, and at most ",
      kMaxCells, " values if each entry had each field"));
}

// Checks that the name of a field of the object at `path` can be that of a
// column.
absl::Status CheckFieldName(absl::string_view name, const JsonPath& path) {
  const absl::Status status = CheckColumnName(std::string(name));
  if (status.ok()) return status;
  return absl::InvalidArgumentError(absl::StrCat(
      "field \"", path.TextOfField(name),
      "\": a column of that name cannot be; the ", status.message()));
}

// Returns the cells of each field that occurs in `rows`, in the order in which
// they come first.
absl::Status CollectCells(const JsonValue& rows, JsonPath* path,
                          std::vector<JsonCells>* columns) {
  constexpr absl::string_view kText = "text";
  absl::flat_hash_map<absl::string_view, size_t> numbers;
  const size_t n = rows.Size();
  for (rapidjson::SizeType row = 0; row < rows.Size(); ++row) {
    const auto add = [&](absl::string_view name, const JsonValue& cell) {
      const auto [it, is_new] = numbers.try_emplace(name, columns->size());
      if (is_new) {
        if (numbers.size() > kMaxColumns || numbers.size() > kMaxCells / n) {
          return false;
        }
        columns->push_back({name, std::vector<const JsonValue*>(n)});
      }
      (*columns)[it->second].cells[row] = &cell;
      return true;
    };
    bool fits = true;
    if (rows[row].IsString()) {
      fits = add(kText, rows[row]);
    } else if (rows[row].IsObject()) {
      for (const auto& field : rows[row].GetObject()) {
        if (!numbers.contains(TextOf(field.name))) {
          const JsonPath::Scope scope(path, row);
          RETURN_IF_ERROR(CheckFieldName(TextOf(field.name), *path));
        }
        fits = fits && add(TextOf(field.name), field.value);
      }
    } else {
      const JsonPath::Scope scope(path, row);
      return path->Refuse(rows[row], "a text, or an object of named values");
    }
    if (!fits) return TooManyCells(*path, numbers.size(), n);
  }
  return absl::OkStatus();
}

// Adds one query column.
absl::Status AddQueryValue(absl::string_view name, const JsonValue& value,
                           const ColumnTypes& types, JsonPath* path,
                           v1::Columns* columns) {
  const JsonPath::Scope scope(path, name);
  const auto place = [&](size_t) { return path->Text(); };
  return ColumnFiller({name, {&value}}, types, place)
      .AddTo(columns->mutable_query());
}

}  // namespace

absl::Status AddRows(const JsonValue& rows, const ColumnTypes& types,
                     JsonPath* path, v1::Columns* columns) {
  std::vector<JsonCells> collected;
  RETURN_IF_ERROR(CollectCells(rows, path, &collected));
  columns->set_num_candidates(rows.Size());
  for (const JsonCells& cells : collected) {
    const auto place = [&](size_t row) {
      const JsonPath::Scope in_row(path, row);
      return rows[static_cast<rapidjson::SizeType>(row)].IsString()
                 ? path->Text()
                 : path->TextOfField(cells.name);
    };
    RETURN_IF_ERROR(
        ColumnFiller(cells, types, place).AddTo(columns->mutable_candidate()));
  }
  if (columns->candidate().empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        path->Text(),
        " has no value: at least one entry must be a text, or an object with a "
        "value that is not null"));
  }
  return absl::OkStatus();
}

absl::Status AddLists(const JsonValue& lists, const ColumnTypes& types,
                      JsonPath* path, v1::Columns* columns) {
  absl::string_view first;  // The first list.
  for (const auto& field : lists.GetObject()) {
    const absl::string_view name = TextOf(field.name);
    RETURN_IF_ERROR(CheckFieldName(name, *path));
    if (!field.value.IsArray()) {
      RETURN_IF_ERROR(AddQueryValue(name, field.value, types, path, columns));
      continue;
    }
    const uint32_t n = field.value.Size();
    if (first.data() == nullptr) {
      first = name;
      columns->set_num_candidates(n);
    } else if (n != columns->num_candidates()) {
      return absl::InvalidArgumentError(absl::StrCat(
          path->TextOfField(name), " has ", n, " values: must have ",
          columns->num_candidates(), ", one per candidate, as ",
          path->TextOfField(first), " has"));
    }
    JsonCells cells{name, {}};
    cells.cells.reserve(n);
    for (const JsonValue& cell : field.value.GetArray()) {
      cells.cells.push_back(&cell);
    }
    const JsonPath::Scope scope(path, name);
    const auto place = [&](size_t row) {
      const JsonPath::Scope in_list(path, row);
      return path->Text();
    };
    RETURN_IF_ERROR(
        ColumnFiller(cells, types, place).AddTo(columns->mutable_candidate()));
  }
  return absl::OkStatus();
}

absl::Status AddQueryValues(const JsonValue& values, const ColumnTypes& types,
                            JsonPath* path, v1::Columns* columns) {
  for (const auto& field : values.GetObject()) {
    RETURN_IF_ERROR(CheckFieldName(TextOf(field.name), *path));
    RETURN_IF_ERROR(
        AddQueryValue(TextOf(field.name), field.value, types, path, columns));
  }
  return absl::OkStatus();
}

size_t NumValues(const v1::Column& column) {
  switch (column.values_case()) {
    case v1::Column::kNumbers:
      return static_cast<size_t>(column.numbers().values_size());
    case v1::Column::kCategories:
      return static_cast<size_t>(column.categories().values_size());
    case v1::Column::kTexts:
      return static_cast<size_t>(column.texts().values_size());
    case v1::Column::kCategorySets:
      return static_cast<size_t>(
          std::max(column.category_sets().offsets_size() - 1, 0));
    case v1::Column::kVectors:
      return static_cast<size_t>(column.vectors().values_size()) /
             std::max(column.vectors().size(), uint32_t{1});
    case v1::Column::VALUES_NOT_SET:
      break;
  }
  return 0;
}

}  // namespace sortition
