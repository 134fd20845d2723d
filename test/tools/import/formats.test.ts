import { describe, expect, it } from "vitest";
import { workbook } from "../../support/workbook.ts";
import { imported } from "./bench.ts";

/** Files rebuilt after real ones: their structure, with other names and numbers. */

const PLACE = ["name", "address", "bit", "type"];

describe("profile import reads", () => {
  it("a tag table of TIA Portal as a workbook, with inputs, outputs and flags", async () => {
    const heads =
      "Name,Path,Data Type,Logical Address,Comment,Hmi Visible,Hmi Accessible,Hmi Writeable,Typeobject ID,Version ID";
    const row = (name: string, type: string, ...[at = "", comment = ""]: readonly string[]): readonly string[] => [
      ...[name, "Default tag table", type, at, comment, "True", "True", "True", "", ""],
    ];
    const file = workbook({
      "PLC Tags": [
        heads.split(","),
        row("DoorShut", "Bool", "%I0.3", "limit switch & hinge"),
        row("FanContactor", "Bool", "%Q1.0"),
        row("PressureRaw", "Int", "%IW66"),
        row("ValveRaw", "Int", "%QW80"),
        row("Step", "Word", "%MW10"),
        row("Supply", "Real", "%MD12"),
        row("BurnerOn", "Bool", "%M5.1"),
      ],
      "TagTable Properties": [
        ["Path", "BelongsToUnit", "Accessibility"],
        ["Default tag table", "", ""],
      ],
    });
    expect(await imported(["PLCTags.xlsx", file], [...PLACE, "label"], { options: ["--block", "M"] })).toEqual([
      ["door_shut", "discrete:3", undefined, "bool", "limit switch & hinge"],
      ["fan_contactor", "coil:8", undefined, "bool", undefined],
      ["pressure_raw", "input:33", undefined, "int16", undefined],
      ["step", "holding:5", undefined, "uint16", undefined],
      ["supply", "holding:6", undefined, "float32", undefined],
      ["burner_on", "holding:2", 1, "bool", "Burner on"],
    ]);
  });

  it("a tag table of TIA Portal as CSV with German address letters", async () => {
    const text =
      "Name,Path,Data Type,Logical Address,Comment\nTuerZu,Standard,Bool,%E0.3,\nLuefter,Standard,Bool,%A1.0,\n";
    expect(await imported(["tags.csv", text], PLACE)).toEqual([
      ["tuer_zu", "discrete:3", undefined, "bool"],
      ["luefter", "coil:8", undefined, "bool"],
    ]);
  });

  it("the element documentation of Do-more Designer, without elements that its Modbus server does not offer", async () => {
    const text = `"MHR1","BoothStep","","Step of the booth"
"MHR11:R","SupplyAir","degF","Air to the booth"
"MHR20:3","FaultBit","",""
"MIR2","RawPressure","",""
"MC17","FanRun","",""
"MI4","DoorShut","",""
"R50","Internal","",""
`;
    expect(await imported(["docs.csv", text], [...PLACE, "word_order", "label"])).toEqual([
      ["booth_step", "holding:0", undefined, "uint16", undefined, "Step of the booth"],
      ["supply_air", "holding:10", undefined, "float32", "low_first", "Air to the booth"],
      ["fault_bit", "holding:19", 3, "bool", undefined, undefined],
      ["raw_pressure", "input:1", undefined, "uint16", undefined, undefined],
      ["fan_run", "coil:16", undefined, "bool", undefined, "FanRun"],
      ["door_shut", "discrete:3", undefined, "bool", undefined, undefined],
    ]);
  });

  it("the tags of Ignition's Modbus driver, and names a tag of several folders by its path", async () => {
    const tag = (name: string, opcItemPath: unknown, more: object = {}): object => ({
      ...{ valueSource: "opc", opcItemPath, dataType: "Float4", name, tagType: "AtomicTag" },
      ...{ opcServer: "Ignition OPC UA Server", ...more },
    });
    const file = {
      name: "",
      tagType: "Provider",
      tags: [
        {
          name: "Booth1",
          tagType: "Folder",
          tags: [
            tag("Supply", "ns=1;s=[PLC]1.HRF103", { engUnit: "°F", documentation: "Supply air" }),
            tag("Status", "ns=1;s=[PLC]1.HR7.2", { dataType: "Boolean" }),
            tag("Flue", "ns=1;s=[PLC]1.HRUS9", {
              ...{ scaleMode: "Linear", rawLow: 0, rawHigh: 1000, scaledLow: 0, scaledHigh: 250, engUnit: "°C" },
            }),
            tag("Recipe", "ns=1;s=[PLC]1.HRS200:20", { dataType: "String" }),
          ],
        },
        { name: "Booth2", tagType: "Folder", tags: [tag("Status", "[PLC]DI17", { dataType: "Boolean" })] },
        {
          name: "_types_",
          tagType: "Folder",
          tags: [{ name: "Fan", tagType: "UdtType", tags: [tag("Run", "[x]C1")] }],
        },
        tag("FromLogix", "ns=1;s=[Logix]Program:Main.Step"),
        { name: "Memory", tagType: "AtomicTag", valueSource: "memory", value: 3 },
      ],
    };
    const keys = [...PLACE, "scale", "unit", "length", "label"];
    expect(await imported(["tags.json", JSON.stringify(file)], keys, { options: ["--base", "1"] })).toEqual([
      ["supply", "holding:102", undefined, "float32", undefined, "F", undefined, "Supply air"],
      ["booth1_status", "holding:6", 2, "bool", undefined, undefined, undefined, undefined],
      ["flue", "holding:8", undefined, "uint16", 0.25, "C", undefined, undefined],
      ["recipe", "holding:199", undefined, "string", undefined, undefined, 10, undefined],
      ["booth2_status", "discrete:16", undefined, "bool", undefined, undefined, undefined, undefined],
    ]);
  });

  it("Home Assistant's modbus integration, whose addresses count from 0", async () => {
    const text = `homeassistant:
  name: !secret home
modbus:
  - name: booth
    type: tcp
    host: 192.0.2.10
    port: 502
    sensors:
      - name: "Supply air"
        slave: 1
        address: 100
        input_type: input
        data_type: float32
        swap: word
        unit_of_measurement: "°C"
        precision: 1
      - name: Exhaust pressure
        device_address: 1
        address: 8
        scale: 0.1
        offset: -5
        unit_of_measurement: Pa
      - { name: Serial, address: 30, data_type: string, count: 8 }
    binary_sensors:
      - name: Door
        address: 13
        input_type: discrete_input
      - name: Flame
        address: 40
        input_type: holding
    switches:
      - name: Fan
        address: 5
        write_type: coil
        verify: { input_type: discrete_input, address: 6 }
`;
    expect(await imported(["configuration.yaml", text], [...PLACE, "word_order", "scale", "offset", "unit"])).toEqual([
      ["supply_air", "input:100", undefined, "float32", "low_first", undefined, undefined, "C"],
      ["exhaust_pressure", "holding:8", undefined, "int16", undefined, 0.1, -5, "Pa"],
      ["serial", "holding:30", undefined, "string", undefined, undefined, undefined, undefined],
      ["door", "discrete:13", undefined, "bool", undefined, undefined, undefined, undefined],
      ["flame", "holding:40", 0, "bool", undefined, undefined, undefined, undefined],
      ["fan", "discrete:6", undefined, "bool", undefined, undefined, undefined, undefined],
    ]);
    const included =
      "- name: booth\n  type: tcp\n  sensors:\n    - name: Air\n      address: 2\n      data_type: uint16\n";
    expect(await imported(["modbus.yaml", included], PLACE)).toEqual([["air", "holding:2", undefined, "uint16"]]);
  });

  it("the inputs of Telegraf in all three styles, with their byte orders", async () => {
    const text = `[agent]
  interval = "10s"
[[inputs.modbus]]
  name = "booth"
  slave_id = 1
  controller = "tcp://192.0.2.10:502"
  discrete_inputs = [ { name = "door", address = [3] } ]
  coils = [ { name = "fan", address = [0] } ]
  holding_registers = [
    { name = "power", byte_order = "ABCD", data_type = "UFIXED", scale=0.1, address = [3,4] },
    { name = "supply", byte_order = "CDAB", data_type = "FLOAT32-IEEE", scale=1.0, address = [20,21] },
  ]
  input_registers = [ { name = "level", byte_order = "BA", data_type = "INT16", scale=1.0, address = [0] } ]
[[inputs.modbus]]
  name = "other"
  configuration_type = "request"
  [[inputs.modbus.request]]
    slave_id = 1
    byte_order = "DCBA"
    register = "holding"
    fields = [
      { address=0, name="gas", type="UINT32" },
      { address=2, name="gap", omit=true },
      { address=5, name="alarm", type="BIT", bit=4 },
    ]
[[inputs.modbus]]
  configuration_type = "metric"
  [[inputs.modbus.metric]]
    slave_id = 1
    byte_order = "ABCD"
    fields = [ { register="input", address=7, name="hours", type="UINT16", scale=0.5 } ]
`;
    expect(await imported(["telegraf.conf", text], [...PLACE, "word_order", "byte_order", "scale"])).toEqual([
      ["fan", "coil:0", undefined, "bool", undefined, undefined, undefined],
      ["door", "discrete:3", undefined, "bool", undefined, undefined, undefined],
      ["power", "holding:3", undefined, "uint32", "high_first", undefined, 0.1],
      ["supply", "holding:20", undefined, "float32", "low_first", undefined, undefined],
      ["level", "input:0", undefined, "int16", undefined, "low_first", undefined],
      ["gas", "holding:0", undefined, "uint32", "low_first", "low_first", undefined],
      ["alarm", "holding:5", 4, "bool", undefined, "low_first", undefined],
      ["hours", "input:7", undefined, "uint16", undefined, undefined, 0.5],
    ]);
  });

  it("a template of evcc, without the registers that evcc writes and without values of SunSpec", async () => {
    const text = `template: acme-meter
products:
  - brand: Acme
params:
  - name: usage
    choice: ["grid"]
render: |
  type: custom
  {{- if eq .usage "grid" }}
  power:
    source: modbus
    {{- include "modbus" . | indent 2 }}
    timeout: {{ .timeout }}
    register:
      address: 37113 # Active power
      type: holding
      decode: int32nan
    scale: -1
  currents:
  - source: modbus
    register:
      address: 12
      type: input
      decode: float32s
  {{- end }}
  soc:
    source: sunspec
    value: 124:ChaState
  limit:
    source: modbus
    set:
      register:
        address: 47100
        type: writesingle
        encoding: uint16
`;
    expect(await imported(["acme.yaml", text], [...PLACE, "word_order", "scale", "unit", "label"])).toEqual([
      ["power", "holding:37113", undefined, "int32", "high_first", -1, "W", "Active power"],
      ["currents_1", "input:12", undefined, "float32", "low_first", undefined, "A", undefined],
    ]);
  });

  it("the variables of a NodeSet2 file by namespace URI, and skips variables of type definitions and of the OPC UA standard itself", async () => {
    const text = `<?xml version="1.0" encoding="utf-8"?>
<UANodeSet xmlns="http://opcfoundation.org/UA/2011/03/UANodeSet.xsd" xmlns:uax="http://opcfoundation.org/UA/2008/02/Types.xsd">
  <NamespaceUris><Uri>http://opcfoundation.org/UA/DI/</Uri><Uri>urn:acme:booth</Uri></NamespaceUris>
  <Aliases><Alias Alias="Double">i=11</Alias><Alias Alias="HasComponent">i=47</Alias></Aliases>
  <UAObject NodeId="ns=2;s=Booth" BrowseName="2:Booth"><DisplayName>Booth</DisplayName></UAObject>
  <UAVariable NodeId="ns=2;s=Booth.Supply" BrowseName="2:Supply" ParentNodeId="ns=2;s=Booth" DataType="Double">
    <DisplayName Locale="en">Supply</DisplayName><Description>Supply air &amp; heat</Description>
    <References><Reference ReferenceType="HasComponent" IsForward="false">ns=2;s=Booth</Reference></References>
    <Value><uax:Double>20.5</uax:Double></Value>
  </UAVariable>
  <UAVariable NodeId="ns=2;i=6001" BrowseName="2:Step" DataType="i=5"><DisplayName>Step</DisplayName></UAVariable>
  <UAVariable NodeId="ns=2;i=6002" BrowseName="2:Curve" DataType="Double" ValueRank="1"><DisplayName>Curve</DisplayName></UAVariable>
  <UAVariable NodeId="i=2256" BrowseName="ServerStatus" DataType="i=862"><DisplayName>ServerStatus</DisplayName></UAVariable>
</UANodeSet>`;
    expect(await imported(["booth.NodeSet2.xml", text], ["name", "node", "type", "label"], { from: "opcua" })).toEqual([
      ["supply", "nsu=urn:acme:booth;s=Booth.Supply", "float64", "Supply air & heat"],
      ["step", "nsu=urn:acme:booth;i=6001", "uint16", "Step"],
    ]);
    expect(await imported(["booth.NodeSet2.xml", text], [])).toContain("Create a profile for OPC UA");
  });

  const SYMBOLS = `<?xml version="1.0" encoding="utf-8"?>
<Symbolconfiguration xmlns="http://www.3s-software.com/schemas/Symbolconfiguration.xsd">
  <Header><Version>3.5.11.0</Version><ProjectInfo name="booth" devicename="Device" appname="Application" /></Header>
  <TypeList>
    <TypeSimple name="T_REAL" size="4" swapsize="4" typeclass="Real" iecname="REAL" />
    <TypeSimple name="T_BYTE" size="1" swapsize="1" typeclass="Byte" iecname="BYTE" />
    <TypeSimple name="T_INT" size="2" swapsize="2" typeclass="Int" iecname="INT" />
    <TypeUserDef name="T_Fan" size="8" typeclass="Userdef" iecname="Fan">
      <UserDefElement iecname="speed" type="T_REAL" byteoffset="0" />
      <UserDefElement iecname="starts" type="T_INT" byteoffset="4" />
    </TypeUserDef>
  </TypeList>
  <NodeList>
    <Node name="Application"><Node name="GVL">
      <Node name="supply" type="T_REAL" access="ReadWrite"><Comment>Supply air</Comment></Node>
      <Node name="fan" type="T_Fan" access="Read" />
      <Node name="flags" type="T_BYTE" access="Read" />
      <Node name="mode" type="T_INT" access="Read" directaddress="%MW10" />
    </Node></Node>
  </NodeList>
</Symbolconfiguration>`;

  it("the symbols of CODESYS as nodes of the named controller, with the members of structures", async () => {
    const options = ["--device", "CODESYS Control Win V3 x64"];
    const node = (path: string): string =>
      `nsu=CODESYSSPV3/3S/IecVarAccess;s=|var|CODESYS Control Win V3 x64.Application.GVL.${path}`;
    const file = ["booth.Device.Application.xml", SYMBOLS] as const;
    expect(await imported(file, ["name", "node", "type", "label"], { from: "opcua", options })).toEqual([
      ["gvl_supply", node("supply"), "float32", "Supply air"],
      ["fan_speed", node("fan.speed"), "float32", undefined],
      ["fan_starts", node("fan.starts"), "int16", "fan starts"],
      ["gvl_flags", node("flags"), "uint8", undefined],
      ["gvl_mode", node("mode"), "int16", undefined],
    ]);
    expect(await imported(file, [], { from: "opcua" })).toContain("Give it with --device");
  });

  it("for Modbus only the symbols of CODESYS that have a fixed address", async () => {
    const options = ["--device", "x", "--block", "words"];
    expect(await imported(["booth.xml", SYMBOLS], PLACE, { options })).toEqual([
      ["gvl_mode", "holding:10", undefined, "int16"],
    ]);
  });
});

describe("profile import names the reason why a file can't be used:", () => {
  it.each([
    [
      "Logix tags as CSV",
      "tags.csv",
      'remark,"CSV-Import-Export"\nremark,"Version = RSLogix 5000 v33.00"\n0.3\nTYPE,SCOPE,NAME,DESCRIPTION,DATATYPE,SPECIFIER,ATTRIBUTES\nTAG,,Temp,"","REAL","",""\n',
      "Logix tags are symbolic",
    ],
    [
      "a Logix project",
      "p.L5X",
      '<?xml version="1.0"?>\n<RSLogix5000Content SchemaRevision="1.0"/>',
      "Logix tags are symbolic",
    ],
    [
      "Ignition tags of a Logix PLC",
      "t.json",
      '{"tags":[{"name":"a","tagType":"AtomicTag","opcItemPath":"ns=1;s=[PLC]Program:Main.A"}]}',
      '"ns=1;s=[PLC]Program:Main.A" is an address of another driver',
    ],
    ["an old workbook", "t.xls", Uint8Array.of(0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1), "Save it as .xlsx or .csv"],
    ["a PDF document", "map.pdf", "%PDF-1.7\n", "is a PDF document"],
    ["another archive", "t.xlsx", Uint8Array.of(0x50, 0x4b, 3, 4, 1, 2, 3), "is not a readable workbook"],
    ["XML of another kind", "t.xml", "<project/>", "is not supported"],
    ["broken JSON", "t.json", '{"tagType": ', "is not valid JSON"],
    ["a NodeSet2 file without variables", "n.xml", "<UANodeSet></UANodeSet>", "contains no point that can be read"],
    ["a broken NodeSet2 file", "n.xml", "<UANodeSet><UAVariable></UANodeSet>", "is not valid XML"],
    [
      "a SunSpec model without its device",
      "m.json",
      '{"id":103,"group":{"points":[{"name":"ID","type":"uint16"},{"name":"W","type":"int16"}]}}',
      "connect the device",
    ],
  ] as const)("%s", async (...[, name, content, reason]) => {
    expect(await imported([name, content], [])).toContain(reason);
  });
});
