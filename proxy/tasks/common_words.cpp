#include "proxy/tasks/common_words.hpp"

#include <array>
#include <unordered_set>

namespace polygraph::proxy {
namespace {

constexpr std::string_view words =
    "ability able abort about above absolute accept accepted accepts access according accordingly account across action "
    "active actual actually add added adding addition additional address addresses adds adjust affect affected affects "
    "after again against ago algorithm algorithms alias align alignment all allocate allocated allocation allow allowed "
    "allowing allows along alpha already also alternative always amd amount and another any anymore anything anyway appear "
    "appears application applications applied applies apply appropriate arbitrary arch architecture architectures archive "
    "are arg args argument arguments arithmetic arm around array arrays ask asked assert assertion assigned assignment "
    "associated assume attempt attempts attribute attributes authentication auto automatic automatically available avoid "
    "avoids away back backend background backward backwards bad base based bash basic because become been before beginning "
    "behavior behaviour being below best better between big binaries binary bind binding bindings bit bits block blocks "
    "boolean bootstrap both boundary bounds branch branches break breaking breaks broke broken buffer buffers bug bugs "
    "build building builds built bump but byte bytes cache calculation call callback called caller callers calling calls "
    "can candidate cannot care case cases cast casts catch cause caused causes causing certain certificate certificates "
    "chain change changed changes changing channel char character characters check checked checking checkout checks cherry "
    "child choose clang clarify class classes clean cleanup clear client clients clone close closed closes closing code "
    "codes coding color column combination comma command commands comment comments commit commits common compare "
    "comparison compat compatibility compatible compilation compile compiled compiler compiling complete completely "
    "completion component components compressed compression computation condition conditional conditions config "
    "configuration configurations configure configured conflict conflicts confusing connect connection connections "
    "consider considered consistency consistent console const constant constants constraint constraints constructor "
    "contain contained container containers containing contains content contents context continue contrib control "
    "conversion convert converted copied copies copy copying copyright core corner correct corrected correctly "
    "corresponding corruption could count counter countries couple coverage crash crashes create created creates creating "
    "creation cross current currently custom daemon data database date dead deal debug debugging declaration declarations "
    "declare decoding default defaults define defined defines defining definition definitions delete deleted depend "
    "dependencies dependency depending depends deprecated described description descriptions descriptor descriptors "
    "destination detailed details detect detected detection determine development device devices did diff difference "
    "different dir direct directive directly directories directory disable disabled disables discussion disk display dist "
    "distribution distributions doc docker docs document documentation documented documents does doing domain done double "
    "down download driver drop dropped due dump duplicate duplicated during dynamic dynamically each earlier early easier "
    "easily easy echo effect either element elements else email embedded emit empty enable enabled enables encoded "
    "encoding end ends engine enough ensure entire entries entry enum env environment environments equal equivalent errno "
    "error errors escape etc even event events every everything exact exactly example examples except exception exceptions "
    "exclude exec executable execute executed execution exist existing exists exit expansion expect expected experimental "
    "explicit explicitly export exported expression expressions extend extended extension extensions external extra fact "
    "fail failed failing fails failure failures fallback false family far fast faster feature features fetch few field "
    "fields file filename filenames files filesystem fill filter final find finding first fix fixed fixes fixing flag "
    "flags floating flush follow followed following follows font foo for force foreign form format formats formatting "
    "forward found framework free freed from full fully function functionality functions further future gcc general "
    "generate generated generates generating generation generator generic get gets gettext getting git give given gives "
    "global goes going good got greater grep group groups had handle handled handler handles handling hang happen happens "
    "hard hardware has hash have having header headers heap help helper here herein high higher hint history home hook "
    "host hosts how however html http https hurd identical ignore ignored image images immediately implement "
    "implementation implementations implemented implements implicit import important improve improved improvement "
    "improvements include included includes including incompatible incomplete incorrect incorrectly increase indentation "
    "independent index indicate individual infinite info information init initial initialization initialize initialized "
    "inline input insert inside inspect install installation installed installing installs instance instances instead "
    "instruction instructions int integer integration intended interface interfaces internal internally into introduced "
    "invalid invocation invoke invoked issue issues item items its itself job just keep kernel key keys keyword know known "
    "label language large larger last later latest latter layer layout lead leading leak leaks learned least leave left "
    "legacy length less let level lib libc libraries library libs license licensed like likely limit limited limits line "
    "lines link linked linker linking links linux list listed listing lists little load loaded loading local locale "
    "locales location lock log logging logic logo logs long longer look looking looks lookup loop loops lost lot low lower "
    "machine machines macro macros made magic mailing main maint maintenance major make makes making malloc man management "
    "manager manual manually many map mapping mark marked mask master match matches matching max maximum may meaning means "
    "mechanism member members memory mention merge merged message messages metadata method methods might migration minimal "
    "minimum minor missing mode modes modified modify module modules more most mostly mount move moved moving much multi "
    "multiple must myself name named names namespace naming native necessary need needed needs negative nested network "
    "never new newer newline newly next node nodes non none normal not note notes nothing notice now null number numbers "
    "numeric object objects obsolete occur occurs off official offset offsets often old older once one ones only open "
    "opened opening operating operation operations operator optimization optimized option optional optionally options "
    "order original other others otherwise our out output outside over overflow override overrides own package packages "
    "packaging packet padding page pages parallel parameter parameters parent parse parsed parser parsing part partial "
    "particular parties parts pass passed passing password past patch patches path paths pattern patterns pending people "
    "per perform performance performed perl permission permissions pipe pkg place places plain platform platforms please "
    "plugin plus point pointer pointers points policy port portable ports position positive possible possibly post "
    "potential potentially pre prefer preferred prefix present preserve pretty prevent prevents previous previously "
    "primary print printed printf printing prints prior priority private probably problem problems process processed "
    "processes processing produce profile program programs progress project projects prompt proper properly properties "
    "property proposed protocol prototype prototypes provide provided provides providing proxy pthread public pull purpose "
    "push put python query queue quite quote quotes race random range rather raw read readable reading reads real really "
    "reason reasons receive received recent recommended record recursion recursive reduce redundant ref refer reference "
    "references reflect refresh regex register registered regression regular related relative release released releases "
    "relevant rely remaining remote removal remove removed removes removing rename renamed replace replaced replacement "
    "replacing reply report reported reporting reports repository request requested requests require required requirement "
    "requirements requires reset resolution resolve resource resources respect respectively response rest restore result "
    "resulting results return returned returning returns revert revision rewrite rid right rights robust root routines "
    "rule rules run running runs runtime safe same sample save say says scan scheme scope screen script scripts search "
    "second seconds section sections secure security see seems seen select selected selection self semantics send sending "
    "sense sent separate sequence sequences series server servers service services session set sets setting settings setup "
    "several share shared shell ship short should show showing shown shows shutdown side sign signal signals signature "
    "signatures signed signing silently similar simple simplify simply since single situation size sizes skip skipped "
    "slightly slow small smaller snapshot socket sockets software solution some something sometimes sort source sources "
    "space spaces spec special specific specification specified specifies specify specifying speed spelling split src "
    "stable stack stage standard standards start started starting starts startup state statement statements static status "
    "stderr stdout step steps still stop stopped storage store stored stream streams strict string strings strip struct "
    "structure structures stuff style sub subject subsequent success such suffix suggested suite summary supplied support "
    "supported supporting supports suppress sure switch symbol symbolic symbols sync syntax sys system systems tab table "
    "tables tabs tag tags take taken takes tar target targets team tell template temporary terminal terms test tested "
    "testing tests text than thanks that the their them then there therefore these they thing things think third this "
    "those though thread threads three through thus time timeout times timestamp together token too tool tools top total "
    "track trademark trademarks trailing transition translated translation translations treat treated tree tried tries "
    "trigger triggered true truncated try trying turn turned twice two type types typo undefined under underlying "
    "unexpected unicode unit unix unknown unless unnecessary unsigned unstable unsupported until unused update updated "
    "updates updating upgrade upgrades upload upon upstream urgency usable usage use used useful useless user users uses "
    "using usually util utility valid validate validation value values var variable variables variant variants various "
    "vector verbose verification verify version versions very via view virtual visible void vulnerability wait want wants "
    "warn warning warnings was watch way ways web well were what when where whether which while whitespace who whole whose "
    "why width will win window windows with within without word words work workaround working works would wrap wrapper "
    "write writes writing written wrong year years yet you your zero ";

constexpr std::string_view pairs =
    "bq fj fz gj gk gq hj jg jv jw jx jy jz kq kx kz lq mz nq oq qf qg qj qk qo qv qy qz rj tj tq uq vq vz wq wv wz xg xh "
    "xj xk xq xu xv xw yf yj yq yv zg zj zq zr zv ";

std::unordered_set<std::string_view> split(std::string_view text) {
  std::unordered_set<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = text.find(' ');
    parts.insert(text.substr(0, end));
    text.remove_prefix(end + 1);
  }
  return parts;
}

using Pairs = std::array<std::array<bool, 26>, 26>;

Pairs read_pairs() {
  Pairs table{};
  for (const std::string_view pair : split(pairs)) table[static_cast<std::size_t>(pair[0] - 'a')][static_cast<std::size_t>(pair[1] - 'a')] = true;
  return table;
}

}  // namespace

bool is_common_word(std::string_view word) {
  static const std::unordered_set<std::string_view> known = split(words);
  return known.contains(word);
}

bool is_rare_pair(char first, char second) {
  static const Pairs table = read_pairs();
  return table[static_cast<std::size_t>(first - 'a')][static_cast<std::size_t>(second - 'a')];
}

}  // namespace polygraph::proxy
