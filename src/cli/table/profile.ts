import { MODBUS_PORT } from "../../domain/plc-address.ts";
import { LEARN_COUNTERS_FOR, LEARN_MODE_FOR, LEARNED_MODES, TEST_FOR } from "../../tools/rules/usual.ts";
import type { CommandSpec } from "../spec.ts";
import { AGENT, BOOTH, YES } from "../spec.ts";

/** The command `profile`, with which users make their own profiles. */
export const PROFILE_TABLE = [
  {
    name: "profile",
    summary:
      "make a profile for a PLC that no shipped profile fits, step by step: one YAML file that notes the source of each line",
    operands: [
      {
        name: "ACTION",
        text: "the action",
        choices: {
          new: "starts the profile WHAT with the protocol settings of a PLC family (--from)",
          import:
            "imports the list WHAT: CSV or XLSX with address, name and type (CLICK, Productivity, Do-more, Connected Components, TIA, Kepware), Ignition (JSON), Home Assistant or evcc (YAML), Telegraf (TOML), a SunSpec model (JSON), OPC UA NodeSet2 or CODESYS symbols (XML)",
          browse: "adds the variables of an OPC UA server as tags, all or those below WHAT",
          add: "adds the tag WHAT at an address (--at), matched by the value on the machine's display (--expect)",
          learn:
            "finds the tags that show the mode (WHAT modes) or that count (WHAT counters), by reading while the booth works",
          test: "reads all tags, live or from a trace, and lists those that look wrong",
          export: "writes the profile as a list for a spreadsheet (--out), which import can read",
        },
      },
      {
        name: "WHAT",
        text: "new: the profile's name; import: the file; browse: a part of the path; add: the tag; learn: modes or counters",
        optional: true,
      },
    ],
    options: {
      ...AGENT,
      ...BOOTH,
      "profile NAME": "the profile, if there are several custom ones",
      "from FAMILY": "new: a shipped profile, a family (click, micro800, s7), modbus or opcua (default modbus)",
      "at ADDRESS": "add: the address as in the manual: 428673, 4x0001, holding:28672, or a node",
      "expect VALUE": "add: the value that the machine's display shows now: a number, a text, on or off",
      "type TYPE,...": "add: the data type, if known; import: the type of all rows, if the list has no types",
      "with KEY=VALUE,...": "add: further keys of the tag, such as role=gas,unit=therm",
      "host HOST": "the PLC (default: the booth's PLC in the configuration)",
      "port PORT": `its Modbus TCP port (default: the booth's, else ${MODBUS_PORT})`,
      rtu: "use RTU frames over TCP at --host",
      "unit N": "its unit id (default: the booth's or the profile's)",
      "columns LETTER=KIND,...":
        "import: the kind of columns that aren't recognized, e.g. A=name,C=address,D=type; none: not used",
      "rows LINE,FIRST-LAST,...": "import: only these lines of the list, e.g. 2,5-20",
      "device NAME": "import: CODESYS: the device's name below DeviceSet in the server",
      "base 0|1": "import: the number of a table's first register in the list",
      "table TABLE": "import: the table of register numbers without one, holding or input",
      "bit-table TABLE": "import: the table of bit numbers without one, coil or discrete",
      "tables WORD=TABLE,...": "import: the meaning of words in the list's table column, e.g. 3=input",
      "digits WHAT": "import: the meaning of the first digit of numbers such as 40001: table, or part of the address",
      "dots WHAT": "import: the meaning of numbers such as 12.3: bits of registers, or bytes of a data block",
      "block NAME": "import: the memory that MB_HOLD_REG maps: a data block such as DB11, M, words, or none",
      "scale HOW": "import: the use of integer scales such as 10: multiply or divide",
      "unknown-units drop": "import: import tags with an unknown unit without a unit",
      "same-names HOW": "import: the handling of names that the profile already has: replace, keep (both) or skip",
      "by-name yes|no":
        "import, browse: whether to recognize standard tags by name if no unit is given (default: ask, else no)",
      "modes MODE,...": `learn modes: the modes, in this order (default ${LEARNED_MODES.join(",")})`,
      "range TABLE:FIRST-LAST,...":
        "learn: the addresses to search, e.g. holding:0-499,coil:0-99 (default: outside the profile's holes, else 0-499 of each table)",
      "rate N": "learn, browse: maximum number of requests per second to the PLC (default 5)",
      "for TIME": `duration of test (default ${TEST_FOR}), of each mode of learn modes (${LEARN_MODE_FOR}), of learn counters (${LEARN_COUNTERS_FOR})`,
      "trace FILE": "test: a trace made by record, instead of the PLC",
      "out FILE": "export: the list; an existing file is not overwritten",
      ...YES,
    },
    notes: [
      "Custom profiles are in the folder profiles next to the configuration file, or in the folders of profile_dirs. To use a profile, enter its name as the booth's profile.",
      "It only reads. If the running agent reads the same PLC, it uses the agent's connection between polls; otherwise it opens a connection of its own.",
      "A tag with a standard name (air_temperature, cycle_count, exhaust_minutes ...) gets the role, unit and limits of the shipped profiles.",
      "import asks for details that the list doesn't contain: its base, its tables, its units. Without a terminal it fails and names the option to set.",
    ],
    examples: [
      "profile new acme --from click",
      "profile add air_temperature --at 428673 --expect 21.4 --host 192.0.2.10",
      "profile test --for 1m",
    ],
    exits: { 1: "no value is plausible, or test: a tag is wrong" },
  },
] as const satisfies readonly CommandSpec[];
