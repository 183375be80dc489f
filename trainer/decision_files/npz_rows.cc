// Rows of NumPy arrays: decision_id, and beside it reward, probabilities …
#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "core/base/status_macros.h"
#include "trainer/decision_files/npz_file.h"
#include "trainer/decision_files/row_formats.h"

namespace sortition::internal {
namespace {

class NpzRows : public DecisionRows {
 public:
  NpzRows(std::string path, NpzFile file)
      : DecisionRows(std::move(path)), file_(std::move(file)) {}

  absl::Status Check() {
    ids_ = Find("decision_id");
    if (ids_ == nullptr || !ids_->is_text() || ids_->columns() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat(path_,
                       ": array 'decision_id' is missing, must have a "
                       "text for each row"));
    }
    const NpyArray* const through = Find("through");
    if (through != nullptr) {
      if (!through->is_text() || through->rows() * through->columns() != 1) {
        return absl::InvalidArgumentError(
            absl::StrCat(path_, ": array 'through' must have one text"));
      }
      through_ = through->TextAt(0);
    }
    for (const auto& [name, array] : file_.arrays()) {
      if (&array == through || array.rows() == ids_->rows()) continue;
      return absl::InvalidArgumentError(
          absl::StrCat(path_, ": array '", name, "' has ", array.rows(),
                       " rows, must have ", ids_->rows(), ", as decision_id"));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<bool> Next() override {
    if (line_ == ids_->rows()) return false;
    id_ = ids_->TextAt(line_++);
    decision_id_ = id_;
    if (id_.empty()) return Wrong("decision_id is empty");
    return true;
  }

  absl::StatusOr<std::optional<double>> Number(
      absl::string_view name) const override {
    const NpyArray* const array = Find(name);
    if (array == nullptr || array->is_text()) return std::nullopt;
    return NumberAt(name, *array, 0);
  }

  absl::StatusOr<bool> Numbers(absl::string_view name, absl::string_view,
                               std::vector<double>* numbers) const override {
    numbers->clear();
    const NpyArray* const array = Find(name);
    if (array == nullptr || array->is_text()) return false;
    for (uint64_t column = 0; column < array->columns(); ++column) {
      ASSIGN_OR_RETURN(const auto number, NumberAt(name, *array, column));
      numbers->push_back(*number);
    }
    return true;
  }

 private:
  const NpyArray* Find(absl::string_view name) const {
    const auto found = file_.arrays().find(std::string(name));
    return found == file_.arrays().end() ? nullptr : &found->second;
  }

  absl::StatusOr<std::optional<double>> NumberAt(absl::string_view name,
                                                 const NpyArray& array,
                                                 uint64_t column) const {
    const double number = array.NumberAt(line_ - 1, column);
    if (!std::isfinite(number)) {
      return Wrong(absl::StrCat(name, "[", column, "] is ", number,
                                ", must be a finite number"));
    }
    return number;
  }

  const NpzFile file_;
  const NpyArray* ids_ = nullptr;
  std::string id_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<DecisionRows>> MakeNpzRows(std::string path) {
  ASSIGN_OR_RETURN(NpzFile file, NpzFile::Read(path));
  auto rows = std::make_unique<NpzRows>(std::move(path), std::move(file));
  RETURN_IF_ERROR(rows->Check());
  return rows;
}

}  // namespace sortition::internal
