#include "wasm/golden/table.hpp"

#include <algorithm>
#include <type_traits>

#include "wasm/golden/item_json.hpp"

namespace polygraph::golden {
namespace {

constexpr char list_separator = '|';

struct Row {
  std::uint64_t line = 0;
  std::vector<std::string> cells;
  bool unclosed = false;  ///< a quoted cell ran to the end of the text
};

/// Reads rows of RFC 4180; a quote inside an unquoted cell is a character.
class Rows {
 public:
  Rows(std::string_view text, char delimiter) : text_(text), delimiter_(delimiter) {}

  /// The next row that isn't blank.
  std::optional<Row> next() {
    while (at_ < text_.size()) {
      Row row = read();
      if (row.cells.size() > 1 || !blank(row.cells.front())) return row;
    }
    return std::nullopt;
  }

 private:
  Row read() {
    Row row{line_, {}, false};
    for (;;) {
      std::string cell;
      if (at_ < text_.size() && text_[at_] == '"') {
        ++at_;
        for (;; ++at_) {
          if (at_ >= text_.size()) {
            row.unclosed = true;
            break;
          }
          if (text_[at_] == '"' && (++at_ >= text_.size() || text_[at_] != '"')) break;
          if (text_[at_] == '\n') ++line_;
          cell += text_[at_];
        }
      }
      while (at_ < text_.size() && text_[at_] != delimiter_ && text_[at_] != '\n') cell += text_[at_++];
      const bool ends = at_ >= text_.size() || text_[at_] == '\n';
      if (ends && cell.ends_with('\r')) cell.pop_back();
      row.cells.push_back(std::move(cell));
      if (!ends) {
        ++at_;
        continue;
      }
      if (at_ < text_.size()) {
        ++at_;
        ++line_;
      }
      return row;
    }
  }

  std::string_view text_;
  char delimiter_;
  std::size_t at_ = 0;
  std::uint64_t line_ = 1;
};

enum class Kind { text, flag, list, object };

Kind kind_of(std::string_view column) {
  if (column == "extra") return Kind::object;
  Kind kind = Kind::text;
  Item item;
  each_optional_field(item, [&](std::string_view field, const auto& value, std::uint32_t) {
    using Value = std::decay_t<decltype(value)>;
    if (field != column) return;
    if constexpr (std::is_same_v<Value, bool>) kind = Kind::flag;
    else if constexpr (std::is_same_v<Value, std::vector<std::string>>) kind = Kind::list;
    else if constexpr (!std::is_same_v<Value, std::string>) kind = Kind::object;
  });
  return kind;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

/// What a cell says; text where it isn't what its column needs, so that the reader names it.
Json value_of(const std::string& cell, Kind kind) {
  switch (kind) {
    case Kind::text: return cell;
    case Kind::flag: {
      const std::string word = lower(trimmed(cell));
      if (word == "true" || word == "yes" || word == "1") return true;
      if (word == "false" || word == "no" || word == "0") return false;
      return cell;
    }
    case Kind::list: {
      Json list = Json::array();
      for (std::size_t begin = 0; begin <= cell.size();) {
        const std::size_t end = std::min(cell.find(list_separator, begin), cell.size());
        list.push_back(std::string(trimmed(std::string_view(cell).substr(begin, end - begin))));
        begin = end + 1;
      }
      return list;
    }
    case Kind::object: {
      Json object = parse_json(cell);
      return object.is_discarded() ? Json(cell) : object;
    }
  }
  return cell;
}

/// An item's name for a column: those of samples are understood too.
std::string field_of_column(std::string_view column) {
  const std::string name(trimmed(column));
  if (name == "query") return "question";
  if (name == "expected_answer") return "reference_answer";
  return name;
}

std::string cell_of(const std::string& text, char delimiter) {
  const bool plain = text.find_first_of(std::string("\"\r\n") + delimiter) == std::string::npos && trimmed(text).size() == text.size();
  if (plain) return text;
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

std::string text_of(const Json& value) { return value.is_string() ? value.get<std::string>() : to_text(value); }

}  // namespace

std::optional<Checked> read_table(std::string_view text) {
  const std::string_view start = text.substr(std::min(text.find_first_not_of("\r\n"), text.size()));
  const char delimiter = start.substr(0, start.find('\n')).find('\t') == std::string_view::npos ? ',' : '\t';
  Rows rows(text, delimiter);
  const auto header = rows.next();
  if (!header) return std::nullopt;
  std::vector<std::string> columns;
  for (const auto& cell : header->cells) columns.push_back(field_of_column(cell));
  const auto has = [&](std::string_view column) { return std::find(columns.begin(), columns.end(), column) != columns.end(); };
  if (!has("question")) return std::nullopt;

  Reader reader(Form::table);
  for (std::size_t c = 0; c < columns.size(); ++c) {
    if (columns[c].empty()) reader.error({"", header->line, "", "column " + std::to_string(c + 1) + " has no name"});
    else if (std::find(columns.begin(), columns.begin() + static_cast<std::ptrdiff_t>(c), columns[c]) != columns.begin() + static_cast<std::ptrdiff_t>(c)) {
      reader.error({"", header->line, columns[c], "two columns bear this name"});
    }
  }
  while (const auto row = rows.next()) {
    if (row->unclosed) {
      reader.error({"", row->line, "", "a quoted cell has no closing quote"});
      continue;
    }
    if (row->cells.size() != columns.size()) {
      reader.error({"", row->line, "", "has " + std::to_string(row->cells.size()) + " cells, but the header names " + std::to_string(columns.size()) + " columns"});
      continue;
    }
    Json item = Json::object();
    std::string query_type;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      if (row->cells[c].empty() || columns[c].empty()) continue;
      if (columns[c] == "query_type") query_type = row->cells[c];
      else item[columns[c]] = value_of(row->cells[c], kind_of(columns[c]));
    }
    if (!has("type")) {
      const auto refuse = item.find("should_refuse");
      const bool refused = refuse != item.end() && *refuse == true;
      item["type"] = name(refused ? ItemType::unanswerable : item_type(query_type).value_or(ItemType::answerable));
    }
    if (!query_type.empty() && !(item.contains("type") && item["type"] == query_type)) {
      if (!item.contains("extra")) item["extra"] = Json::object();
      if (item["extra"].is_object()) item["extra"]["query_type"] = query_type;
    }
    reader.add(item, {row->line});
  }
  return reader.finish();
}

Written write_table(const Set& set, char delimiter) {
  Written out;
  std::vector<Json> items;
  std::vector<std::string> columns{"id", "type", "question"};
  const auto use = [&](const std::string& column) {
    if (std::find(columns.begin(), columns.end(), column) == columns.end()) columns.push_back(column);
  };
  // The set itself travels in the first item's `extra`, as in JSON Lines.
  const std::string lines = write_items(set);
  for (std::size_t begin = 0; begin < lines.size();) {
    const std::size_t end = lines.find('\n', begin);
    items.push_back(parse_json(std::string_view(lines).substr(begin, end - begin)));
    begin = end + 1;
  }
  bool query_types = false;
  const Item every;  // gives the columns their order
  each_optional_field(every, [&](const char* field, const auto&, std::uint32_t) {
    if (std::any_of(items.begin(), items.end(), [&](const Json& item) { return item.contains(field) && !item[field].is_null(); })) use(field);
  });
  for (Json& item : items) {
    if (const auto extra = item.find("extra"); extra != item.end() && extra->contains("query_type")) {
      item["query_type"] = (*extra)["query_type"];
      item["extra"].erase("query_type");
      if (item["extra"].empty()) item.erase("extra");
      query_types = true;
    }
    for (const auto& [key, value] : item.items()) {
      if (!value.is_null()) use(key);
    }
  }
  if (query_types) {
    for (Json& item : items) {
      if (!item.contains("query_type")) item["query_type"] = item["type"];
    }
  }

  const auto write_row = [&](const std::vector<std::string>& cells) {
    for (std::size_t c = 0; c < cells.size(); ++c) {
      if (c > 0) out.text += delimiter;
      out.text += cell_of(cells[c], delimiter);
    }
    out.text += "\r\n";
  };
  write_row(columns);
  for (std::size_t i = 0; i < items.size(); ++i) {
    std::vector<std::string> cells;
    for (const auto& column : columns) {
      const auto found = items[i].find(column);
      std::string cell;
      if (found != items[i].end() && !found->is_null()) {
        if (kind_of(column) == Kind::list && found->is_array()) {
          for (const Json& each : *found) {
            const std::string id = text_of(each);
            if (id.find(list_separator) != std::string::npos) {
              out.left_out.push_back({set.items[i].id, set.items[i].line, column, "\"" + id + "\" holds the separator | of lists"});
              continue;
            }
            if (!cell.empty()) cell += list_separator;
            cell += id;
          }
        } else {
          cell = text_of(*found);
        }
      }
      cells.push_back(std::move(cell));
    }
    write_row(cells);
  }
  return out;
}

}  // namespace polygraph::golden
