import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.WebSocket;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * A client in plain Java 17, written from docs/protocol.md: it subscribes to a topic, acknowledges,
 * tells gaps and duplicates, and publishes what it is given.
 *
 * <p>java Subscriber.java COORDINATOR USER TOKEN TOPIC COUNT [TEXT...]
 *
 * <p>Once it is subscribed it publishes each TEXT, prints COUNT messages, and logs out.
 */
public class Subscriber implements WebSocket.Listener {
    private static final long EPOCH = System.currentTimeMillis();

    private final String user;
    private final String token;
    private final String topic;
    private final long wanted;
    private final List<String> texts;
    private final CountDownLatch ended = new CountDownLatch(1);
    private final StringBuilder partial = new StringBuilder();
    private final Map<List<Object>, long[]> last = new HashMap<>(); // by topic and source
    private CompletableFuture<?> sending = CompletableFuture.completedFuture(null);
    private WebSocket socket;
    private long received;
    private long acknowledged;
    private long shown;
    private long ackEvery = 1;
    private int closeCode = 1006;

    Subscriber(String user, String token, String topic, long wanted, List<String> texts) {
        this.user = user;
        this.token = token;
        this.topic = topic;
        this.wanted = wanted;
        this.texts = texts;
    }

    public static void main(String[] arguments) throws Exception {
        if (arguments.length < 5) {
            System.err.println("usage: Subscriber COORDINATOR USER TOKEN TOPIC COUNT [TEXT...]");
            System.exit(2);
        }
        List<String> texts = List.of(arguments).subList(5, arguments.length);
        long wanted = Long.parseLong(arguments[4]);
        Subscriber client =
                new Subscriber(arguments[1], arguments[2], arguments[3], wanted, texts);
        System.exit(client.run(arguments[0]));
    }

    private int run(String coordinator) throws Exception {
        HttpClient http = HttpClient.newHttpClient();
        String url = broker(http, coordinator);
        socket = http.newWebSocketBuilder().buildAsync(URI.create(url + "/session"), this).join();
        send("{\"type\":\"login\",\"user\":" + quoted(user) + ",\"token\":" + quoted(token) + "}");
        send("{\"type\":\"subscribe\",\"id\":1,\"topics\":[" + quoted(topic) + "]}");
        while (!ended.await(200, TimeUnit.MILLISECONDS)) {
            acknowledge();
        }
        return closeCode == 1000 && shown >= wanted ? 0 : 1;
    }

    /** Where this user's session is: the coordinator's requestbroker. */
    private String broker(HttpClient http, String coordinator) throws Exception {
        String body = "{\"user\":" + quoted(user) + ",\"topics\":[" + quoted(topic) + "]}";
        HttpRequest request =
                HttpRequest.newBuilder(URI.create(coordinator + "/requestbroker"))
                        .header("Authorization", "Bearer " + token)
                        .header("Content-Type", "application/json")
                        .POST(HttpRequest.BodyPublishers.ofString(body))
                        .build();
        HttpResponse<String> answer = http.send(request, HttpResponse.BodyHandlers.ofString());
        if (answer.statusCode() != 200) {
            throw new IllegalStateException(answer.statusCode() + ": " + answer.body());
        }
        List<?> sessions = (List<?>) ((Map<?, ?>) Json.read(answer.body())).get("sessions");
        return (String) ((Map<?, ?>) sessions.get(0)).get("url");
    }

    @Override
    public CompletionStage<?> onText(WebSocket from, CharSequence data, boolean isLast) {
        partial.append(data);
        if (isLast) {
            String text = partial.toString();
            partial.setLength(0);
            handle((Map<?, ?>) Json.read(text));
        }
        from.request(1);
        return null;
    }

    @Override
    public CompletionStage<?> onClose(WebSocket from, int code, String reason) {
        closeCode = code;
        System.out.println("closed " + code + " " + reason);
        ended.countDown();
        return null;
    }

    @Override
    public void onError(WebSocket from, Throwable error) {
        System.out.println("cut off: " + error);
        ended.countDown();
    }

    private synchronized void handle(Map<?, ?> frame) {
        switch ((String) frame.get("type")) {
            case "welcome" -> ackEvery = number(frame.get("ack_every"));
            case "subscribed" -> {
                System.out.println("subscribed " + frame.get("topics"));
                Object cursors = frame.get("cursors");
                for (Object row : cursors == null ? List.of() : (List<?>) cursors) {
                    List<?> cursor = (List<?>) row;
                    remember(cursor.get(0), cursor.get(1), cursor.get(2), cursor.get(3));
                }
                publish();
            }
            case "message" -> take(frame);
            case "request_to_move" -> send(
                    "{\"type\":\"decline\",\"move\":" + number(frame.get("move")) + "}");
            case "problem" -> System.out.println(
                    "problem " + frame.get("code") + ": " + frame.get("message"));
            default -> {} // beats, and what a newer broker may say
        }
    }

    private void take(Map<?, ?> frame) {
        received++;
        if (received - acknowledged >= ackEvery) {
            acknowledge();
        }
        long[] before = last.get(List.of(frame.get("topic"), frame.get("source")));
        long epoch = number(frame.get("epoch"));
        long seq = number(frame.get("seq"));
        if (before != null && (epoch < before[0] || (epoch == before[0] && seq <= before[1]))) {
            return; // seen already
        }
        if (before != null && epoch == before[0] && seq > before[1] + 1) {
            System.out.println("gap of " + (seq - before[1] - 1));
        } else if (before != null && epoch > before[0] && seq > 1) {
            System.out.println("gap");
        }
        remember(frame.get("topic"), frame.get("source"), epoch, seq);
        if (Boolean.TRUE.equals(frame.get("skipped"))) {
            return;
        }
        System.out.println(
                "message " + frame.get("source") + " " + seq + " " + frame.get("data"));
        if (++shown == wanted) {
            acknowledge();
            send("{\"type\":\"logout\"}");
        }
    }

    private void remember(Object topic, Object source, Object epoch, Object seq) {
        last.put(List.of(topic, source), new long[] {number(epoch), number(seq)});
    }

    private synchronized void acknowledge() {
        if (received > acknowledged) {
            acknowledged = received;
            send("{\"type\":\"ack\",\"count\":" + received + "}");
        }
    }

    /** Simply: to the broker that we have, with generation 0. It passes them on. */
    private void publish() {
        for (int n = 0; n < texts.size(); n++) {
            send("{\"type\":\"publish\",\"topic\":" + quoted(topic) + ",\"epoch\":" + EPOCH
                    + ",\"seq\":" + (n + 1) + ",\"data\":" + quoted(texts.get(n)) + "}");
        }
    }

    /** One after the other: Java's WebSocket takes a text when the one before is gone. */
    private synchronized void send(String text) {
        sending = sending.thenCompose(done -> socket.sendText(text, true));
    }

    private static long number(Object value) {
        return ((Number) value).longValue();
    }

    private static String quoted(String text) {
        StringBuilder out = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c < ' ') {
                out.append(String.format("\\u%04x", (int) c));
            } else {
                out.append(c);
            }
        }
        return out.append('"').toString();
    }

    /** JSON into maps, lists, strings, numbers, booleans and null. */
    private static final class Json {
        private final String text;
        private int at;

        private Json(String text) {
            this.text = text;
        }

        static Object read(String text) {
            return new Json(text).value();
        }

        private Object value() {
            char c = next();
            return switch (c) {
                case '{' -> object();
                case '[' -> list();
                case '"' -> string();
                default -> word(c);
            };
        }

        private Map<String, Object> object() {
            Map<String, Object> found = new LinkedHashMap<>();
            for (char c = next(); c != '}'; c = next()) {
                if (c == ',') {
                    continue;
                }
                String key = string();
                next(); // the colon
                found.put(key, value());
            }
            return found;
        }

        private List<Object> list() {
            List<Object> found = new ArrayList<>();
            for (char c = next(); c != ']'; c = next()) {
                if (c != ',') {
                    at--;
                    found.add(value());
                }
            }
            return found;
        }

        private String string() {
            StringBuilder out = new StringBuilder();
            for (char c = text.charAt(at++); c != '"'; c = text.charAt(at++)) {
                out.append(c == '\\' ? escaped(text.charAt(at++)) : c);
            }
            return out.toString();
        }

        private char escaped(char c) {
            if (c == 'u') {
                at += 4;
                return (char) Integer.parseInt(text.substring(at - 4, at), 16);
            }
            int known = "bfnrt".indexOf(c);
            return known < 0 ? c : "\b\f\n\r\t".charAt(known);
        }

        private Object word(char first) {
            int start = at - 1;
            while (at < text.length() && ",]} \t\r\n".indexOf(text.charAt(at)) < 0) {
                at++;
            }
            String word = text.substring(start, at);
            return switch (first) {
                case 't' -> true;
                case 'f' -> false;
                case 'n' -> null;
                default -> word.matches("-?\\d{1,18}")
                        ? (Object) Long.valueOf(word)
                        : Double.valueOf(word);
            };
        }

        private char next() {
            while (Character.isWhitespace(text.charAt(at))) {
                at++;
            }
            return text.charAt(at++);
        }
    }
}
