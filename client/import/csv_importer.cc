// CSV with a header: a line for each candidate, those of a decision one after
// the other, or a line for each decision, with the features of its context.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/import/csv_cells.h"
#include "client/import/csv_named_columns.h"
#include "client/import/imported_tuple.h"
#include "client/import/importer.h"
#include "core/base/hash.h"
#include "core/base/status_macros.h"
#include "core/data/action.h"
#include "io/segments/decision_view.h"
#include "io/text/csv_record.h"
#include "io/text/parse_number.h"
#include "process/command.h"

namespace sortition {
namespace {

class CsvImporter : public Importer {
 public:
  CsvImporter(const config::v1::LogImportOptions& options, CsvMapping mapping,
              FileSchema schema, ImportSink* sink)
      : options_(options),
        by_decision_(options.rows() == "decision"),
        delimiter_(options.delimiter() == "tab" ? '\t'
                                                : options.delimiter()[0]),
        mapping_(std::move(mapping)),
        schema_(std::move(schema)),
        sink_(sink) {
    if (schema_ != nullptr) named_.emplace(*schema_);
  }

  void BeginFile() override { cells_.Clear(); }

  void Line(const InputLine& line, const InputPlace& place) override {
    if (cells_.header().empty() && line.size == 5 &&
        absl::StartsWith(line.text(), "sep=")) {
      delimiter_ = line.data[4];  // Excel states it in a line of its own.
      return;
    }
    line_hash_ = HashBytes(line.text());
    absl::Status status =
        SplitCsvRecord(line, cells_.mutable_fields(), delimiter_);
    if (cells_.header().empty()) {
      if (status.ok()) status = cells_.TakeHeader(mapping_);
      if (!status.ok()) return sink_->Fail(place, status);
      return ReportUnusedColumns(place);
    }
    ++rows_;
    if (status.ok() && cells_.fields().size() != columns().width) {
      status = absl::InvalidArgumentError(absl::StrCat(
          "the line has ", cells_.fields().size(), " fields, must have ",
          columns().width, ", as the header"));
    }
    if (!status.ok()) {
      Lose(place, line.lines, status);
    } else if (by_decision_) {
      TakeDecision(place);
    } else {
      TakeCandidate(place);
    }
  }

  void EndFile() override { End(); }

 private:
  const CsvColumns& columns() const { return cells_.columns(); }

  void ReportUnusedColumns(const InputPlace& place) {
    constexpr size_t kMaxNamed = 10;
    const std::vector<std::string> unused = cells_.UnusedColumns();
    for (size_t i = 0; i < unused.size() && i < kMaxNamed; ++i) {
      sink_->report().ignored.Add(
          absl::StrCat("columns '", Shown(unused[i]), "'"), place);
    }
    if (unused.size() <= kMaxNamed) return;
    sink_->report().ignored.Add("columns with other names", place,
                                unused.size() - kMaxNamed);
  }

  // It is not known which decision the line belonged to: the one that is open,
  // or the next one.
  void Lose(const InputPlace& place, uint64_t lines,
            const absl::Status& status) {
    // A wrong quote joins lines that would have been decisions.
    for (uint64_t i = 0; i < lines; ++i) sink_->Bad(place, status);
    if (by_decision_) return;
    lost_ = absl::InvalidArgumentError(
        absl::StrCat("line ", place.line, " beside it could not be read"));
    if (is_open_) failure_ = lost_;
  }

  void TakeDecision(const InputPlace& place) {
    Begin(place);
    failure_ = ReadContextRow();
    End();
  }

  void TakeCandidate(const InputPlace& place) {
    std::optional<uint32_t> index;
    const absl::Status status =
        cells_.Read(columns().index, "an integer from 0", &index);
    // A decision may follow one of the same id.
    const bool is_new =
        !is_open_ || cells_.Cell(columns().id) != id_ || index == 0;
    if (is_new) {
      End();
      Begin(place);
      std::swap(failure_, lost_);
    }
    if (!failure_.ok()) return;
    failure_ = status.ok() ? ReadCandidate(is_new, index) : status;
    bad_line_ = place.line;
  }

  void Begin(const InputPlace& place) {
    is_open_ = true;
    first_line_ = place.line;
    bad_line_ = place.line;
    file_ = std::string(place.file);
    failure_ = absl::OkStatus();
    id_ = columns().id >= 0 ? std::string(cells_.Cell(columns().id)) : "";
    record_.mutable_tuple()->Clear();
    chosen_.clear();
    eligible_.clear();
  }

  // The decision that is open is complete.
  void End() {
    if (!is_open_) return;
    is_open_ = false;
    if (failure_.ok() && !by_decision_) failure_ = FinishCandidates();
    if (failure_.ok()) failure_ = SetShown(shown_, record_.mutable_tuple());
    const InputPlace place{file_, failure_.ok() ? first_line_ : bad_line_};
    failure_.ok() ? sink_->Add(record_, place) : sink_->Bad(place, failure_);
  }

  // Reads what all lines of a decision share.
  absl::Status ReadShared() {
    log::v1::BanditTuple* tuple = record_.mutable_tuple();
    log::v1::Decision* decision = tuple->mutable_decision();
    if (columns().id < 0) {
      sink_->MakeUpId(absl::StrCat("row-", rows_), line_hash_,
                      {file_, first_line_}, decision);
    } else {
      decision->set_decision_id(id_);
    }
    RETURN_IF_ERROR(ReadOrigin(decision));
    RETURN_IF_ERROR(cells_.ReadAttributes(decision));
    RETURN_IF_ERROR(ReadKind(decision));
    std::optional<double> reward;
    RETURN_IF_ERROR(cells_.Read(columns().reward, "a finite number", &reward));
    if (!reward) return cells_.Wrong(columns().reward, "a finite number");
    tuple->set_reward(*reward);
    std::optional<double> p;
    std::optional<double> logp;
    RETURN_IF_ERROR(cells_.Read(columns().p, "in (0, 1]", &p));
    RETURN_IF_ERROR(cells_.Read(columns().logp, "a logarithm", &logp));
    if (p && !(*p <= 1 && (*p > 0 || (*p == 0 && logp)))) {
      return cells_.Wrong(columns().p, "in (0, 1]");
    }
    RETURN_IF_ERROR(SetPropensity(p, logp, decision));
    bool flag = true;
    RETURN_IF_ERROR(cells_.ReadFlag(columns().feedback, &flag));
    tuple->set_has_feedback(flag);
    shown_ = {};
    RETURN_IF_ERROR(cells_.ReadFlag(columns().shown, &shown_.is_action));
    RETURN_IF_ERROR(
        cells_.Read(columns().seen, "at least 1", &shown_.seen_ranks));
    flag = false;
    RETURN_IF_ERROR(cells_.ReadFlag(columns().censored, &flag));
    if (flag) tuple->add_censored(log::v1::CENSOR_REASON_UNSPECIFIED);
    std::optional<double> keep;
    RETURN_IF_ERROR(cells_.Read(columns().keep, "in (0, 1]", &keep));
    return SetKeepProbability(keep.value_or(1), tuple);
  }

  // Reads who decided when, and for whom.
  absl::Status ReadOrigin(log::v1::Decision* decision) const {
    if (columns().time >= 0 && !cells_.Cell(columns().time).empty()) {
      RETURN_IF_ERROR(sink_->SetTime(cells_.Cell(columns().time), "time",
                                     {file_, first_line_}, decision));
    }
    if (columns().unit >= 0) {
      decision->set_unit_id(std::string(cells_.Cell(columns().unit)));
    }
    if (columns().model >= 0) {
      decision->set_model(std::string(cells_.Cell(columns().model)));
    }
    std::optional<uint64_t> version;
    RETURN_IF_ERROR(
        cells_.Read(columns().version, "an integer from 0", &version));
    decision->set_version(version.value_or(0));
    SetModel(options_, decision);
    return absl::OkStatus();
  }

  absl::Status ReadKind(log::v1::Decision* decision) const {
    log::v1::ActionKind kind =
        options_.action() == "rank" ? log::v1::RANK : log::v1::SELECT;
    if (columns().kind >= 0 && !by_decision_) {
      const bool is_known = log::v1::ActionKind_Parse(
          std::string(cells_.Cell(columns().kind)), &kind);
      if (!is_known || (kind != log::v1::SELECT && kind != log::v1::RANK &&
                        kind != log::v1::SUBSET)) {
        return cells_.Wrong(columns().kind, "SELECT, RANK or SUBSET");
      }
    }
    decision->set_action_kind(kind);
    bool can_abstain = !options_.cannot_abstain();
    RETURN_IF_ERROR(cells_.ReadFlag(columns().abstain, &can_abstain));
    decision->set_can_abstain(can_abstain && kind == log::v1::SELECT);
    if (decision->can_abstain() && columns().abstain < 0) {
      sink_->report().assumed.Add(kMayAbstain, {file_, first_line_});
    }
    return absl::OkStatus();
  }

  // `place` is what the line says of the candidate's place.
  absl::Status ReadCandidate(bool is_first, std::optional<uint32_t> place) {
    RETURN_IF_ERROR(cells_.CheckShared(is_first, first_line_));
    if (is_first) RETURN_IF_ERROR(ReadShared());
    log::v1::BanditTuple* tuple = record_.mutable_tuple();
    log::v1::Decision* decision = tuple->mutable_decision();
    const uint32_t index = decision->num_candidates();
    if (place.value_or(index) != index) {
      return cells_.Wrong(
          columns().index,
          absl::StrCat(index, ", the number of lines of the decision before"));
    }
    decision->set_num_candidates(index + 1);
    std::optional<uint32_t> rank;
    RETURN_IF_ERROR(cells_.ReadRank(columns().action, &rank));
    bool eligible = true;
    RETURN_IF_ERROR(cells_.ReadFlag(columns().eligible, &eligible));
    eligible_.push_back(eligible);
    if (columns().candidate >= 0) {
      decision->add_candidate_ids(
          std::string(cells_.Cell(columns().candidate)));
    }
    if (rank.value_or(0) > 0) RETURN_IF_ERROR(AddChosen(*rank, index));
    if (named_) return named_->AddLine(cells_, is_first);
    return columns().sparse >= 0 ? ReadSparseRow(is_first, decision)
                                 : cells_.ReadDenseRow(decision);
  }

  absl::Status AddChosen(uint32_t rank, uint32_t index) {
    Chosen chosen{.rank = rank, .index = index};
    RETURN_IF_ERROR(cells_.ReadFlag(columns().rank_shown, &chosen.is_shown));
    RETURN_IF_ERROR(
        cells_.Read(columns().conditional, "a logarithm", &chosen.conditional));
    std::optional<double> reward;
    RETURN_IF_ERROR(
        cells_.Read(columns().rank_reward, "a finite number", &reward));
    if (reward) {
      log::v1::RankReward* entry = record_.mutable_tuple()->add_rank_rewards();
      entry->set_rank(rank - 1);
      entry->set_reward(*reward);
      entry->set_count(1);
    }
    chosen_.push_back(chosen);
    return absl::OkStatus();
  }

  absl::Status ReadSparseRow(bool is_first, log::v1::Decision* decision) const {
    return cells_.ReadSparseRow(is_first, options_.num_features(), decision);
  }

  // Makes the action of the candidates that were chosen.
  absl::Status FinishCandidates() {
    log::v1::BanditTuple* tuple = record_.mutable_tuple();
    log::v1::Decision* decision = tuple->mutable_decision();
    bad_line_ = first_line_;
    if (named_) RETURN_IF_ERROR(named_->Finish(decision));
    const bool is_order = decision->action_kind() == log::v1::RANK;
    if (is_order) {
      std::sort(
          chosen_.begin(), chosen_.end(),
          [](const Chosen& a, const Chosen& b) { return a.rank < b.rank; });
      decision->set_top_k(static_cast<uint32_t>(chosen_.size()));
    }
    for (size_t i = 0; i < chosen_.size(); ++i) {
      if (is_order && chosen_[i].rank != i + 1) {
        return absl::InvalidArgumentError(absl::StrCat(
            "decision '", Shown(id_), "' has the rank ", chosen_[i].rank,
            ", must have the ranks 1 to ", chosen_.size(), ", each once"));
      }
      if (!is_order && chosen_[i].rank != 1) {
        return absl::InvalidArgumentError(absl::StrCat(
            "decision '", Shown(id_), "' has a candidate with the rank ",
            chosen_[i].rank,
            " in its action, must be 1 or 0, unless --action=rank"));
      }
      decision->add_action(static_cast<int32_t>(chosen_[i].index));
      if (is_order && chosen_[i].conditional) {
        decision->add_conditional_log_propensities(*chosen_[i].conditional);
      }
    }
    RETURN_IF_ERROR(TakeShownRanks(decision->action_kind()));
    if (std::all_of(decision->candidate_ids().begin(),
                    decision->candidate_ids().end(),
                    [](const std::string& id) { return id.empty(); })) {
      decision->clear_candidate_ids();
    }
    if (chosen_.empty() && decision->can_abstain()) {
      decision->add_action(kAbstain);
      if (columns().abstain < 0) {
        sink_->report().assumed.Add(
            "decisions without a chosen candidate, taken as \"no answer\"",
            {file_, first_line_});
      }
    }
    if (!is_order) tuple->clear_rank_rewards();
    std::sort(tuple->mutable_rank_rewards()->begin(),
              tuple->mutable_rank_rewards()->end(),
              [](const auto& a, const auto& b) { return a.rank() < b.rank(); });
    if (std::find(eligible_.begin(), eligible_.end(), false) !=
        eligible_.end()) {
      for (const bool eligible : eligible_) decision->add_eligible(eligible);
    }
    return absl::OkStatus();
  }

  // Requires that the candidates chosen are in the order of their ranks.
  absl::Status TakeShownRanks(log::v1::ActionKind kind) {
    if (kind == log::v1::SUBSET) return absl::OkStatus();  // It has no ranks.
    std::vector<std::optional<bool>> by_rank;
    for (const Chosen& chosen : chosen_) by_rank.push_back(chosen.is_shown);
    ASSIGN_OR_RETURN(shown_.shown_ranks, CountShownRanks(by_rank));
    return absl::OkStatus();
  }

  // Reads a line for a decision: action a has the context's features in the
  // columns from a * (their number) on.
  absl::Status ReadContextRow() {
    RETURN_IF_ERROR(ReadShared());
    log::v1::Decision* decision = record_.mutable_tuple()->mutable_decision();
    std::optional<int32_t> action;
    RETURN_IF_ERROR(
        cells_.Read(columns().action, "the number of an action", &action));
    if (!action)
      return cells_.Wrong(columns().action, "the number of an action");
    decision->add_action(*action);
    const uint32_t actions = options_.num_actions();
    log::v1::Decision row;
    RETURN_IF_ERROR(columns().sparse >= 0 ? ReadSparseRow(true, &row)
                                          : cells_.ReadDenseRow(&row));
    RETURN_IF_ERROR(ViewQuery(row).status());
    const uint32_t d = row.num_features();
    if (uint64_t{d} * actions > std::numeric_limits<uint32_t>::max()) {
      return absl::InvalidArgumentError(
          absl::StrCat(d, " features times ", actions,
                       " actions must be at most 4294967295"));
    }
    decision->set_num_candidates(actions);
    decision->set_num_features(d * actions);
    v1::SparseFeatures* const sparse = decision->mutable_sparse();
    sparse->add_row_offsets(0);
    for (uint32_t a = 0; a < actions; ++a) {
      AppendContext(row, a * d, sparse);
      sparse->add_row_offsets(static_cast<uint32_t>(sparse->columns_size()));
    }
    return absl::OkStatus();
  }

  static void AppendContext(const log::v1::Decision& row, uint32_t first,
                            v1::SparseFeatures* sparse) {
    for (int k = 0; k < row.sparse().columns_size(); ++k) {
      sparse->add_columns(first + row.sparse().columns(k));
      sparse->add_values(row.sparse().values(k));
    }
    for (int j = 0; j < row.dense_values_size(); ++j) {
      if (row.dense_values(j) == 0) continue;
      sparse->add_columns(first + static_cast<uint32_t>(j));
      sparse->add_values(row.dense_values(j));
    }
  }

  struct Chosen {
    uint32_t rank = 0;
    uint32_t index = 0;
    std::optional<bool> is_shown = {};
    std::optional<double> conditional = {};
  };

  const config::v1::LogImportOptions& options_;
  const bool by_decision_;
  char delimiter_;
  const CsvMapping mapping_;
  const FileSchema schema_;
  std::optional<CsvNamedColumns> named_;  // Set where there is a schema.
  ImportSink* const sink_;
  CsvCells cells_;
  uint64_t rows_ = 0;
  Hash128 line_hash_;
  // The decision that is being read.
  bool is_open_ = false;
  uint64_t first_line_ = 0;
  uint64_t bad_line_ = 0;
  std::string file_;
  std::string id_;
  absl::Status failure_;
  absl::Status lost_;  // Not OK: the next decision may miss a line.
  ImportedShown shown_;
  std::vector<Chosen> chosen_;
  std::vector<bool> eligible_;
  log::v1::LogRecord record_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Importer>> MakeCsvImporter(
    const config::v1::LogImportOptions& options, FileSchema schema,
    ImportSink* sink) {
  if (options.rows() == "decision" && !options.has_num_actions()) {
    return UsageError("--rows=decision needs --num_actions");
  }
  ASSIGN_OR_RETURN(CsvMapping mapping,
                   CsvMapping::Create(options, schema.get()));
  return std::make_unique<CsvImporter>(options, std::move(mapping),
                                       std::move(schema), sink);
}

}  // namespace sortition
