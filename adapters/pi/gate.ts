// Checkrein's part inside pi: it asks the driver before each tool call, refuses steers that no turn can take, and tells
// the model that its last turn was interrupted. Loaded with `-e`; it writes nothing. docs/harnesses/pi.md has the facts.
import { type ExtensionAPI, VERSION } from "@earendil-works/pi-coding-agent";

/** What the driver gave us. Taken out of the environment at once, so that no tool inherits it. */
function take(name: string): string {
	const value = process.env[name] ?? "";
	delete process.env[name];
	return value;
}

export default function (pi: ExtensionAPI) {
	// Known to this process and its driver only: it marks the driver's steers and proves that these words are ours.
	const token = take("CHECKREIN_PI_TOKEN");
	const mark = `\u0001${token}\u0001`;
	const key = take("CHECKREIN_PI_KEY");
	const provider = take("CHECKREIN_PI_PROVIDER");
	if (!token) throw new Error("checkrein's gate works only in a process that checkrein starts");
	if (provider) pi.registerProvider("checkrein", { ...JSON.parse(provider), apiKey: key });

	pi.registerFlag("checkrein-policy", { type: "string", description: "ask or auto; anything else is ask" });
	const asks = () => pi.getFlag("checkrein-policy") !== "auto";

	pi.on("session_start", (_event, ctx) => {
		const ready = {
			checkrein: "ready",
			token,
			version: VERSION,
			mode: ctx.mode,
			answers: ctx.hasUI,
			policy: asks() ? "ask" : "auto",
			projectTrusted: ctx.isProjectTrusted(),
			cwd: ctx.cwd,
		};
		ctx.ui.notify(JSON.stringify(ready), "info");
	});

	// What this handler throws blocks the call too.
	pi.on("tool_call", async (event, ctx) => {
		if (!asks()) return undefined;
		if (ctx.mode !== "rpc" || !ctx.hasUI) return { block: true, reason: "Not run: nobody is there to approve it." };
		const { toolCallId, parentToolCallId, toolName, input } = event;
		const question = { checkrein: "approval", toolCallId, parentToolCallId, toolName, input, cwd: ctx.cwd };
		// Without the signal an interrupt would wait for the answer.
		const answer = await ctx.ui.input(JSON.stringify(question), "", { signal: ctx.signal });
		if (ctx.signal?.aborted) return { block: true, reason: "Not run: the turn was interrupted before it was approved." };
		if (answer === undefined) return { block: true, reason: "Not run: it was not approved." };
		const { decision, message } = JSON.parse(answer);
		if (decision === "allow") return undefined;
		return { block: true, reason: message ? `Not approved by the user, who says: ${message}` : "Not approved by the user." };
	});

	// pi drops what an interrupted answer had said, and leaves the model no sign that it was stopped.
	pi.on("agent_settled", (event) => {
		if (!event.aborted) return;
		const content = "[The user interrupted the turn before this message.]";
		pi.sendMessage({ customType: "checkrein", content, display: true });
	});

	// Only pi itself knows, without a race, whether a turn runs when a steer arrives.
	pi.on("input", (event) => {
		if (!event.text.startsWith(mark)) return { action: "continue" };
		if (event.streamingBehavior === undefined) return { action: "handled" };
		return { action: "transform", text: event.text.slice(mark.length), images: event.images };
	});
}
