// C#, .NET 10, nothing to install: PORT=3000 WEBHOOK_SECRET=whsec_… dotnet run Receiver.cs
#:sdk Microsoft.NET.Sdk.Web
using System.Collections.Concurrent;
using System.Security.Cryptography;
using System.Text;
using System.Text.Json;

var key = Convert.FromBase64String(Environment.GetEnvironmentVariable("WEBHOOK_SECRET")!.Replace("whsec_", ""));
// Keep both in your database: they have to outlive this process.
var handled = new ConcurrentDictionary<string, bool>();
var latest = new ConcurrentDictionary<string, int>();

bool IsGenuine(IHeaderDictionary headers, string body)
{
    var timestamp = headers["webhook-timestamp"].ToString();
    var signed = Encoding.UTF8.GetBytes($"{headers["webhook-id"]}.{timestamp}.{body}");
    var expected = Encoding.UTF8.GetBytes("v1," + Convert.ToBase64String(HMACSHA256.HashData(key, signed)));
    var isRecent = long.TryParse(timestamp, out var seconds)
        && Math.Abs(DateTimeOffset.UtcNow.ToUnixTimeSeconds() - seconds) < 300;
    // While a secret is being replaced there are two signatures.
    var given = headers["webhook-signature"].ToString().Split(' ').Select(Encoding.UTF8.GetBytes);
    return isRecent && given.Any(one => CryptographicOperations.FixedTimeEquals(one, expected));
}

var app = WebApplication.CreateBuilder(args).Build();
app.MapPost("/{**path}", async (HttpRequest request) =>
{
    var body = await new StreamReader(request.Body, Encoding.UTF8).ReadToEndAsync();
    if (!IsGenuine(request.Headers, body)) return Results.Unauthorized();
    var data = JsonDocument.Parse(body).RootElement.GetProperty("data");
    var call = data.TryGetProperty("call", out var one) ? one.GetProperty("id").GetString() : null;
    var sequence = data.TryGetProperty("sequence", out var number) ? number.GetInt32() : 0;
    // Each event has the whole call: one that comes late, after a retry, must not undo what is newer.
    var isLate = call != null && sequence < latest.GetValueOrDefault(call);
    if (handled.TryAdd(request.Headers["webhook-id"].ToString(), true))
        Console.WriteLine($"{(isLate ? "late" : "handle")} {data.GetProperty("name").GetString()} {sequence}");
    if (call != null && !isLate) latest[call] = sequence;
    return Results.Ok();
});
app.Run($"http://127.0.0.1:{Environment.GetEnvironmentVariable("PORT") ?? "3000"}");
