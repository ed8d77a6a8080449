import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.apache.lucene.analysis.core.WhitespaceAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.FieldType;
import org.apache.lucene.index.*;
import org.apache.lucene.search.*;
import org.apache.lucene.search.similarities.BM25Similarity;
import org.apache.lucene.store.Directory;
import org.apache.lucene.store.MMapDirectory;

/**
 * Lucene for the benchmarks. "build FOLDER TEXTS MERGE" indexes a text a line and prints nanoseconds. "search FOLDER"
 * reads commands: "ready K COUNT" and that many lines "kind TAB term TAB term"; "round" prints nanoseconds by query;
 * "answers" prints the documents of each query, a line each.
 */
public class Lucene {
    static final BM25Similarity BM25 = new BM25Similarity(1.2f, 0.75f);
    static final long SECOND = 1_000_000_000L;

    public static void main(String[] args) throws Exception {
        if (args[0].equals("build")) build(Path.of(args[1]), Path.of(args[2]), args[3].equals("merge"));
        else search(Path.of(args[1]));
    }

    static void build(Path folder, Path texts, boolean merge) throws Exception {
        List<String> lines = Files.readAllLines(texts, StandardCharsets.UTF_8);
        FieldType type = new FieldType();
        type.setIndexOptions(IndexOptions.DOCS_AND_FREQS_AND_POSITIONS);
        type.setTokenized(true);
        type.setStored(true);
        type.freeze();
        IndexWriterConfig config = new IndexWriterConfig(new WhitespaceAnalyzer());
        config.setSimilarity(BM25).setRAMBufferSizeMB(512).setUseCompoundFile(false);
        config.setMergeScheduler(new SerialMergeScheduler());
        long began = System.nanoTime();
        try (Directory directory = new MMapDirectory(folder); IndexWriter writer = new IndexWriter(directory, config)) {
            for (String line : lines) {
                Document document = new Document();
                document.add(new Field("text", line, type));
                writer.addDocument(document);
            }
            if (merge) writer.forceMerge(1);
            writer.commit();
        }
        System.out.println(System.nanoTime() - began);
    }

    static Query query(String[] parts) {
        if (parts.length == 2) return new TermQuery(new Term("text", parts[1]));
        if (parts[0].equals("phrase")) {
            PhraseQuery.Builder phrase = new PhraseQuery.Builder();
            for (int i = 1; i < parts.length; i++) phrase.add(new Term("text", parts[i]));
            return phrase.build();
        }
        BooleanClause.Occur occur = parts[0].equals("intersection") ? BooleanClause.Occur.MUST : BooleanClause.Occur.SHOULD;
        BooleanQuery.Builder all = new BooleanQuery.Builder();
        for (int i = 1; i < parts.length; i++) all.add(new TermQuery(new Term("text", parts[i])), occur);
        return all.build();
    }

    static TopDocs run(IndexSearcher searcher, Query query, int k) throws Exception {
        TopScoreDocCollector collector = TopScoreDocCollector.create(k, k);
        searcher.search(query, collector);
        return collector.topDocs();
    }

    /** Ask until it gets no faster: the compiler of the virtual machine shares the one core. */
    static void warmUp(IndexSearcher searcher, List<Query> queries, int k) throws Exception {
        long began = System.nanoTime(), best = Long.MAX_VALUE, improved = began;
        for (long now = began; now < began + 10 * SECOND && now < improved + 2 * SECOND; ) {
            for (Query query : queries) run(searcher, query, k);
            long pass = System.nanoTime() - now;
            now += pass;
            if (pass < best - best / 30) {
                best = pass;
                improved = now;
            }
        }
    }

    static void search(Path folder) throws Exception {
        IndexSearcher searcher = new IndexSearcher(DirectoryReader.open(new MMapDirectory(folder)));
        searcher.setSimilarity(BM25);
        searcher.setQueryCache(null);
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        List<Query> queries = new ArrayList<>();
        int k = 10;
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            StringBuilder out = new StringBuilder();
            String[] words = line.split(" ");
            if (words[0].equals("ready")) {
                k = Integer.parseInt(words[1]);
                queries.clear();
                for (int n = Integer.parseInt(words[2]); n > 0; n--) queries.add(query(in.readLine().split("\t")));
                warmUp(searcher, queries, k);
                out.append("ready\n");
            } else if (words[0].equals("round")) {
                for (Query query : queries) {
                    long first = System.nanoTime();
                    run(searcher, query, k);
                    long second = System.nanoTime();
                    run(searcher, query, k);
                    long third = System.nanoTime();
                    out.append(Math.min(second - first, third - second)).append(' ');
                }
                out.append('\n');
            } else {
                for (Query query : queries) {
                    for (ScoreDoc hit : run(searcher, query, k).scoreDocs) out.append(hit.doc).append(' ');
                    out.append('\n');
                }
            }
            System.out.print(out);
            System.out.flush();
        }
    }
}
