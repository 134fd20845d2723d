import { MODBUS_PORT } from "../../domain/plc-address.ts";
import { LEARN_COUNTERS_FOR, LEARN_MODE_FOR, LEARNED_MODES, TEST_FOR } from "../../tools/rules/usual.ts";
import type { CommandSpec } from "../spec.ts";
import { AGENT, BOOTH, YES } from "../spec.ts";

/** The command of the profile workshop. */
export const PROFILE_TABLE = [
  {
    name: "profile",
    summary: "make a profile for a PLC that none fits, step by step: one YAML file that says where each line came from",
    operands: [
      {
        name: "ACTION",
        text: "what to do",
        choices: {
          new: "begin the profile WHAT with the manners of a family (--from)",
          import:
            "the register list WHAT: as CLICK, Productivity, Connected Components or TIA export it, or address, name, type",
          browse: "the variables that an OPC UA server shows, all or those below WHAT, as tags",
          add: "the tag WHAT, found at an address (--at) by what the display shows (--expect)",
          learn: "what tells the modes (WHAT modes), or what counts (WHAT counters), by looking while the booth works",
          test: "read all tags, live or from a trace, and say which look wrong",
          export: "the profile as a list for the office (--out), which import reads back",
        },
      },
      {
        name: "WHAT",
        text: "new: its name; import: the file; browse: a part of the path; add: the tag; learn: modes or counters",
        optional: true,
      },
    ],
    options: {
      ...AGENT,
      ...BOOTH,
      "profile NAME": "which profile, where there are several of your own",
      "from FAMILY": "new: a shipped profile, its family (click, micro800, s7), modbus or opcua (default modbus)",
      "at ADDRESS": "add: as the manual has it: 428673, 4x0001, holding:28672, or a node",
      "expect VALUE": "add: what the machine's own display shows now: a number, a text, on or off",
      "type TYPE,...": "add: what it holds, where it is known",
      "with KEY=VALUE,...": "add: further keys of the tag, such as role=gas,unit=therm",
      "host HOST": "the PLC (default: the booth's of the configuration)",
      "port PORT": `its Modbus TCP port (default the booth's, else ${MODBUS_PORT})`,
      rtu: "RTU frames over TCP at --host",
      "unit N": "its unit id (default the booth's or the profile's)",
      "base 0|1": "import: the first number of a table in the list",
      "table TABLE": "import: where register numbers without a table are, holding or input",
      "bit-table TABLE": "import: where numbers of bits without a table are, coil or discrete",
      "tables WORD=TABLE,...": "import: what words of the list's table column mean, e.g. 3=input",
      "digits WHAT": "import: the first digit of numbers such as 40001: table, or part of the address",
      "dots WHAT": "import: numbers such as 12.3: bits of registers, or bytes of a data block",
      "block NAME": "import: what MB_HOLD_REG maps: a data block such as DB11, M, words, or none",
      "scale HOW": "import: whole scales such as 10: multiply or divide",
      "unknown-units drop": "import: take tags whose unit isn't known without a unit",
      "same-names HOW": "import: names that the profile has already: replace, keep (both) or skip",
      "by-name yes|no":
        "import, browse: whether usual tags are known by name where no unit is given (default: ask, else no)",
      "modes MODE,...": `learn modes: which, in this order (default ${LEARNED_MODES.join(",")})`,
      "range TABLE:FIRST-LAST,...":
        "learn: where to look, e.g. holding:0-499,coil:0-99 (default: between the profile's holes, else 0-499 of each table)",
      "rate N": "learn, browse: requests a second to the PLC, at most (default 5)",
      "for TIME": `how long: test (default ${TEST_FOR}), each mode of learn (${LEARN_MODE_FOR}), learn counters (${LEARN_COUNTERS_FOR})`,
      "trace FILE": "test: a trace of record instead of the PLC",
      "out FILE": "export: the list; a file that exists is not overwritten",
      ...YES,
    },
    notes: [
      "Profiles of your own stand in the folder profiles beside the configuration, or where its profile_dirs says; name one as the booth's profile to use it.",
      "It only reads: over the running agent's connection where that one reads the same PLC, between its polls, else over one of its own.",
      "A tag with a usual name (air_temperature, cycle_count, exhaust_minutes ...) gets role, unit and limits as the shipped profiles have them.",
      "import asks what a list leaves open: its base, its tables, its units. Without a terminal it ends with the option that answers.",
    ],
    examples: [
      "profile new acme --from click",
      "profile add air_temperature --at 428673 --expect 21.4 --host 192.0.2.10",
      "profile test --for 1m",
    ],
    exits: { 1: "nothing fits, or test: a tag is wrong" },
  },
] as const satisfies readonly CommandSpec[];
